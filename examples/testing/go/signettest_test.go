package signettest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
)

func TestNamespaceIsCreated(t *testing.T) {
	server := Start(t)
	authority, err := os.ReadFile(server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}

	body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"factory"}}`
	request, err := http.NewRequest("POST", server.URL+"/api/v1/namespaces", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+server.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("the server answered %d: %s", response.StatusCode, answer)
	}
	var namespace struct{ Metadata struct{ Name, UID string } }
	if err := json.Unmarshal(answer, &namespace); err != nil {
		t.Fatal(err)
	}
	if namespace.Metadata.Name != "factory" || namespace.Metadata.UID == "" {
		t.Fatalf("the server answered %s", answer)
	}
}
