// Command go-revocation asks Go's own readers about a list and an answer of Signet, and about a chain:
// go-revocation CA.pem LEAF.pem LIST.der OCSP-URL
// go-revocation chain ROOTS.pem CERTIFICATES.pem NAME
package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"

	"golang.org/x/crypto/ocsp"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	return value
}

func certificate(file string) *x509.Certificate {
	block, _ := pem.Decode(must(os.ReadFile(file)))
	return must(x509.ParseCertificate(block.Bytes))
}

// verify says whether a client that has the roots believes a server of this name that shows the certificates.
func verify(roots, shown, name string) {
	anchors := x509.NewCertPool()
	anchors.AppendCertsFromPEM(must(os.ReadFile(roots)))
	intermediates := x509.NewCertPool()
	intermediates.AppendCertsFromPEM(must(os.ReadFile(shown)))
	options := x509.VerifyOptions{Roots: anchors, Intermediates: intermediates, DNSName: name}
	chains := must(certificate(shown).Verify(options))
	for _, one := range chains[0] {
		fmt.Println(one.Subject)
	}
}

func main() {
	if os.Args[1] == "chain" {
		verify(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	ca, leaf := certificate(os.Args[1]), certificate(os.Args[2])
	list := must(x509.ParseRevocationList(must(os.ReadFile(os.Args[3]))))
	must(0, list.CheckSignatureFrom(ca))
	onList := "not on the list"
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(leaf.SerialNumber) == 0 {
			onList = fmt.Sprintf("on the list, reason %d", entry.ReasonCode)
		}
	}
	request := must(ocsp.CreateRequest(leaf, ca, nil))
	response := must(http.Post(os.Args[4], "application/ocsp-request", bytes.NewReader(request)))
	answer := must(ocsp.ParseResponseForCert(must(io.ReadAll(response.Body)), leaf, ca))
	status := map[int]string{ocsp.Good: "good", ocsp.Revoked: "revoked", ocsp.Unknown: "unknown"}[answer.Status]
	fmt.Printf("%s; OCSP %s, reason %d; names %v %v %v\n", onList, status, answer.RevocationReason,
		leaf.CRLDistributionPoints, leaf.OCSPServer, leaf.IssuingCertificateURL)
}
