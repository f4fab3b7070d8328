module signet/test/clients/go-revocation

go 1.24.0

require golang.org/x/crypto v0.36.0
