# A folder of a bucket of S3: put NAME FILE fails where the name is taken, get NAME FILE. PLACE is the bucket.
put() { aws s3api put-object --bucket "$PLACE" --key "$FOLDER$1" --body "$2" --if-none-match '*'; }
get() { aws s3api get-object --bucket "$PLACE" --key "$FOLDER$1" "$2"; }
