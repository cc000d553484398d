# A folder of a bucket of Google Cloud: put NAME FILE fails where the name is taken, get NAME FILE. PLACE is the bucket.
token() {
  curl -sf -H Metadata-Flavor:Google --noproxy '*' \
    'http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token' |
    jq -r .access_token
}
blob() { curl -sf -H "Authorization: Bearer $(token)" "${@:2}" "https://storage.googleapis.com/$PLACE/$FOLDER$1"; }
# generation 0: only where no object is (docs.cloud.google.com/storage/docs/xml-api/reference-headers)
put() { blob "$1" -X PUT -H "x-goog-if-generation-match: 0" --data-binary "@$2"; }
get() { blob "$1" -o "$2"; }
