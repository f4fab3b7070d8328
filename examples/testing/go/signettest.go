// Package signettest gives Go tests a real API server in place of envtest's etcd and kube-apiserver: no binaries to
// download, one process, ready in a fraction of a second.
//
// With client-go or controller-runtime, make the configuration of the kubeconfig's text:
//
//	config, err := clientcmd.RESTConfigFromKubeConfig(signettest.Start(t).Kubeconfig)
package signettest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Server is a Signet server that answers.
type Server struct {
	URL        string
	CAFile     string
	Kubeconfig []byte // the administrator's
	Token      string // a member of system:masters, for clients without kubeconfig
}

var serverLine = regexp.MustCompile(`server: (https://\S+)`)

// Start starts a server of its own for a test, and stops it when the test ends. The program is "signet" of the PATH.
func Start(t *testing.T, flags ...string) *Server {
	t.Helper()
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	token := "test-administrator"
	tokens := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+`,admin,admin-uid,"system:masters"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"serve", "--data-dir", data, "--secure-port", "0", "--token-auth-file", tokens, "--log-level", "error"}, flags...)
	command := exec.Command("signet", arguments...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "ready in ") {
	}
	kubeconfig, err := os.ReadFile(filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		t.Fatalf("signet did not start: %v", err)
	}
	server := serverLine.FindSubmatch(kubeconfig)
	if server == nil {
		t.Fatalf("the kubeconfig names no server:\n%s", kubeconfig)
	}
	return &Server{URL: string(server[1]), CAFile: filepath.Join(data, "ca.crt"), Kubeconfig: kubeconfig, Token: token}
}
