// Package signettest gives Go tests a real API server in place of envtest's etcd and kube-apiserver: no binaries to
// download, one process, ready in a fraction of a second.
package signettest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Start starts a server of its own for a test, and stops it when the test ends. It returns the administrator's
// configuration, as envtest.Environment.Start does. The program is "signet" of the PATH.
func Start(t *testing.T, flags ...string) *rest.Config {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	arguments := []string{"serve", "--data-dir", data, "--secure-port", "0", "--log-level", "error"}
	command := exec.Command("signet", append(arguments, flags...)...)
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
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		t.Fatalf("signet did not start: %v", err)
	}
	return config
}
