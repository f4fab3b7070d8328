#!/usr/bin/env bash
# Writes in one spelling of the API groups, and reads, watches, changes and deletes in the other, with kubectl: all four
# ways. Needs a server that serves both. Prints a line for each way; the first thing that goes wrong ends it with status 1.
#
#   bash both-names.sh KUBECONFIG CERTIFICATE_REQUEST.pem
set -Eeuo pipefail
export KUBECONFIG=$1
request=$(base64 --wrap 0 < "$2")
folder=$(mktemp -d)
trap 'status=$?; kill $(jobs -p) 2> /dev/null || true; rm -rf "$folder"; exit $status' EXIT
trap 'echo "failed at line $LINENO" >&2' ERR
export KUBECACHEDIR=$folder/cache

signer_of() { if [ "$1" = k8s.io ]; then echo kubernetes.io/kube-apiserver-client; else echo platform.io/apiserver-client; fi; }
same() { [ "$1" = "$2" ] || { echo "got '$1', want '$2'" >&2; return 1; }; }
refused() { # TEXT COMMAND...
  local text=$1 answer
  shift
  if answer=$("$@" 2>&1); then echo "not refused: $*" >&2; return 1; fi
  [[ $answer == *"$text"* ]] || { echo "$answer" >&2; return 1; }
}
lease() { # DOMAIN NAME HOLDER
  printf '{"apiVersion":"coordination.%s/v1","kind":"Lease","metadata":{"name":"%s"},"spec":{"holderIdentity":"%s"}}' "$@"
}

cross() {
  local written=$1 read=$2 namespace="kubectl-${1/./-}-${2/./-}"
  local here=(--namespace "$namespace")
  local leases_read="leases.coordination.$read" leases_written="leases.coordination.$written"
  kubectl create namespace "$namespace" > /dev/null

  # Leases: a watch in one spelling sees what is written in the other; there is one owner of a field.
  lease "$written" lease one | kubectl create "${here[@]}" --filename - > /dev/null
  kubectl get "$leases_read" lease "${here[@]}" --watch --output-watch-events --output custom-columns=EVENT:.type,VERSION:.object.apiVersion \
    --no-headers > "$folder/events" &
  local watching=$!
  until grep --quiet ADDED "$folder/events"; do sleep 0.05; done
  kubectl patch "$leases_read" lease "${here[@]}" --type merge --patch '{"metadata":{"labels":{"colour":"red"}}}' > /dev/null
  same "$(kubectl get "$leases_written" lease "${here[@]}" --output jsonpath='{.apiVersion} {.metadata.labels.colour}')" "coordination.$written/v1 red"
  lease "$written" lease a | kubectl apply "${here[@]}" --server-side --force-conflicts --field-manager a --filename - > /dev/null
  lease "$read" lease b > "$folder/lease.json"
  refused 'conflict with "a"' kubectl apply "${here[@]}" --server-side --field-manager b --filename "$folder/lease.json"
  kubectl apply "${here[@]}" --server-side --force-conflicts --field-manager b --filename "$folder/lease.json" > /dev/null
  same "$(kubectl get "$leases_written" lease "${here[@]}" --output jsonpath='{.metadata.managedFields[?(@.fieldsV1.f:spec)].manager}')" b
  kubectl diff "${here[@]}" --server-side --field-manager b --filename "$folder/lease.json"
  kubectl delete "$leases_read" lease "${here[@]}" > /dev/null
  until grep --quiet "DELETED *coordination.$read/v1" "$folder/events"; do sleep 0.05; done
  kill "$watching"

  # An owner that is named in the other spelling.
  local uid
  uid=$(lease "$written" owner one | kubectl create "${here[@]}" --filename - --output jsonpath='{.metadata.uid}')
  kubectl create "${here[@]}" --filename - > /dev/null <<< '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","ownerReferences":[{"apiVersion":"coordination.'"$read"'/v1","kind":"Lease","name":"owner","uid":"'"$uid"'"}]}}'
  kubectl delete "$leases_written" owner "${here[@]}" > /dev/null
  kubectl wait configmap/owned "${here[@]}" --for delete --timeout 20s > /dev/null 2>&1

  # Roles, with a rule in the other spelling, and reviews.
  kubectl create serviceaccount robot "${here[@]}" > /dev/null
  kubectl create "${here[@]}" --filename - > /dev/null <<< '{"apiVersion":"rbac.authorization.'"$written"'/v1","kind":"Role","metadata":{"name":"reader"},"rules":[{"apiGroups":["coordination.'"$read"'"],"resources":["leases"],"verbs":["list"]}]}'
  kubectl create "${here[@]}" --filename - > /dev/null <<< '{"apiVersion":"rbac.authorization.'"$read"'/v1","kind":"RoleBinding","metadata":{"name":"robot-reads"},"roleRef":{"apiGroup":"rbac.authorization.'"$written"'","kind":"Role","name":"reader"},"subjects":[{"kind":"ServiceAccount","name":"robot"}]}'
  local token domain domains
  domains=$(printf '%s\n' "$written" "$read" | sort --unique)
  token=$(kubectl create token robot "${here[@]}")
  for domain in $domains; do
    kubectl create --output json --filename - > "$folder/review.json" <<< '{"apiVersion":"authentication.'"$domain"'/v1","kind":"TokenReview","spec":{"token":"'"$token"'"}}'
    grep --quiet '"apiVersion": "authentication.'"$domain"'/v1"' "$folder/review.json"
    grep --quiet "\"username\": \"system:serviceaccount:$namespace:robot\"" "$folder/review.json"
    same "$(kubectl auth can-i list "leases.coordination.$domain" "${here[@]}" --as "system:serviceaccount:$namespace:robot")" yes
    kubectl get "leases.coordination.$domain" "${here[@]}" --as "system:serviceaccount:$namespace:robot" > /dev/null 2>&1
    refused 'cannot list resource "roles"' kubectl get "roles.rbac.authorization.$domain" "${here[@]}" --as "system:serviceaccount:$namespace:robot"
  done

  # A certificate: asked for in one spelling, for a signer in the other. kubectl approves in upstream's alone.
  kubectl create --filename - > /dev/null <<< '{"apiVersion":"certificates.'"$written"'/v1","kind":"CertificateSigningRequest","metadata":{"name":"'"$namespace"'"},"spec":{"request":"'"$request"'","signerName":"'"$(signer_of "$read")"'","usages":["client auth"]}}'
  kubectl certificate approve "$namespace" > /dev/null
  kubectl wait "certificatesigningrequests.certificates.$written/$namespace" --for jsonpath='{.status.certificate}' --timeout 20s > /dev/null
  same "$(kubectl get "certificatesigningrequests.certificates.$written" "$namespace" --output jsonpath='{.spec.signerName}')" "$(signer_of "$read")"
  kubectl delete "certificatesigningrequests.certificates.$read" "$namespace" > /dev/null

  # An event, which the core group has too.
  kubectl create "${here[@]}" --filename - > /dev/null <<< '{"apiVersion":"events.'"$written"'/v1","kind":"Event","metadata":{"name":"tried"},"eventTime":"2026-01-01T00:00:00.000000Z","regarding":{"kind":"Namespace","name":"'"$namespace"'","namespace":"'"$namespace"'"},"reportingController":"example.com/test","reportingInstance":"test-1","action":"Try","reason":"Tried","type":"Normal","note":"It was tried."}'
  same "$(kubectl get "events.events.$read" tried "${here[@]}" --output jsonpath='{.note}')" 'It was tried.'
  same "$(kubectl get events tried "${here[@]}" --output jsonpath='{.message}')" 'It was tried.'

  # What discovery and OpenAPI say of either.
  for domain in $domains; do
    kubectl explain leases.spec.holderIdentity --api-version "coordination.$domain/v1" | grep 'FIELD: holderIdentity <string>' > /dev/null
    kubectl api-resources --api-group "coordination.$domain" --no-headers | grep "^leases .*coordination.$domain/v1 " > /dev/null
  done
  kubectl delete namespace "$namespace" --wait=false > /dev/null
  echo "ok: written as $written, read as $read"
}

for written in k8s.io platform.io; do
  for read in k8s.io platform.io; do cross "$written" "$read"; done
done
