#!/usr/bin/env bash
# Brings the clients of other languages into .clients and Go's own cache, from their package registries:
#   npm run clients:install -- [go] [python] [java] [tokens]
# Default: those whose language is on this machine. Compiling Go's takes minutes the first time.
set -euo pipefail
cd "$(dirname "$0")"
clients=../../.clients
[ $# -gt 0 ] || set -- $(for one in go python3 mvn; do command -v "$one" > /dev/null && echo "$one"; done)
for one; do
  case $one in
    go)
      mkdir -p "$clients/go"
      (cd go && go mod download && go build -o "../$clients/go/" ./client-go ./both-names ./controller-runtime)
      (cd go-signer && go mod download && go build -o "../$clients/go/" .)
      ;;
    python | python3)
      python3 -m venv "$clients/python"
      "$clients/python/bin/pip" install --quiet --requirement python/requirements.txt --requirement ../../examples/testing/python/requirements.txt
      ;;
    java | mvn) mvn --quiet --batch-mode --file java/pom.xml dependency:copy-dependencies "-DoutputDirectory=$PWD/$clients/java" ;;
    # A PKCS #11 token in software: packages of Debian, which only root installs.
    tokens) (command -v softhsm2-util && command -v p11-kit && command -v pkcs11-tool) > /dev/null || apt-get install --yes --no-install-recommends softhsm2 p11-kit opensc > /dev/null ;;
    *) echo "install.sh: $one is not go, python, java or tokens" >&2 && exit 2 ;;
  esac
done
