# A folder of Azure's blobs: put NAME FILE fails where the name is taken, get NAME FILE. PLACE is the storage account.
AUDIENCE=https://storage.azure.com/
token() {
  curl -sf -H Metadata:true --noproxy '*' \
    "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=$AUDIENCE" |
    jq -r .access_token
}
blob() {
  curl -sf -H "Authorization: Bearer $(token)" -H "x-ms-version: 2023-11-03" "${@:2}" \
    "https://$PLACE.blob.core.windows.net/$FOLDER$1"
}
put() { blob "$1" -X PUT -H "x-ms-blob-type: BlockBlob" -H "If-None-Match: *" --data-binary "@$2"; }
get() { blob "$1" -o "$2"; }
