package signettest

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// robots gives every namespace with the label "robot" a ServiceAccount of that name.
type robots struct{ client.Client }

func (r *robots) Reconcile(ctx context.Context, asked reconcile.Request) (reconcile.Result, error) {
	var namespace corev1.Namespace
	if err := r.Get(ctx, asked.NamespacedName, &namespace); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	name, isAsked := namespace.Labels["robot"]
	if !isAsked {
		return reconcile.Result{}, nil
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace.Name}}
	return reconcile.Result{}, client.IgnoreAlreadyExists(r.Create(ctx, account))
}

func TestNamespaceThatAsksForARobotGetsOne(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(Start(t), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.Namespace{}).Complete(&robots{manager.GetClient()}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()

	direct, err := client.New(manager.GetConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "factory", Labels: map[string]string{"robot": "welder"}}}
	if err := direct.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, client.ObjectKey{Namespace: "factory", Name: "welder"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("no robot: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
