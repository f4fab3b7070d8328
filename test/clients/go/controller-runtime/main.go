// Runs managers of controller-runtime as they come: a cache, leader election with a change of the leader, a controller
// that approves certificate requests, events, finalizers, owners, patches and server-side apply. A client writes in one
// spelling of the groups and the manager reads in the other, all four ways: the same Go types, registered under the other
// group. Prints a line for each way; the first thing that goes wrong ends it with status 1.
//
//	go run ./controller-runtime KUBECONFIG CERTIFICATE_REQUEST.pem
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"signet/test/clients/go/checks"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "example.com/approver"

var adminSigners = map[string]string{
	"k8s.io":      "kubernetes.io/kube-apiserver-client",
	"platform.io": "platform.io/apiserver-client",
}

func main() {
	if len(os.Args) != 3 {
		checks.Fail("usage", fmt.Errorf("go run ./controller-runtime KUBECONFIG CERTIFICATE_REQUEST.pem"))
	}
	configuration, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	checks.NoError("kubeconfig", err)
	request, err := os.ReadFile(os.Args[2])
	checks.NoError("certificate request", err)
	ctrl.SetLogger(logr.Discard())
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Second)
	defer stop()
	for _, written := range []string{"k8s.io", "platform.io"} {
		for _, read := range []string{"k8s.io", "platform.io"} {
			manage(ctx, configuration, way{written, read}, request)
			checks.Done("written as " + written + ", read as " + read)
		}
	}
}

// schemeOf has the types that are used here, with the groups of one domain.
func schemeOf(domain string) *runtime.Scheme {
	scheme := runtime.NewScheme()
	checks.NoError("scheme", corev1.AddToScheme(scheme))
	for group, types := range map[string][]runtime.Object{
		"certificates": {&certificatesv1.CertificateSigningRequest{}, &certificatesv1.CertificateSigningRequestList{}},
		"coordination": {&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
		"events":       {&eventsv1.Event{}, &eventsv1.EventList{}},
	} {
		version := schema.GroupVersion{Group: group + "." + domain, Version: "v1"}
		scheme.AddKnownTypes(version, types...)
		metav1.AddToGroupVersion(scheme, version)
	}
	return scheme
}

// way is in which spelling the client writes and the manager reads.
type way struct{ written, read string }

func manage(ctx context.Context, configuration *rest.Config, of way, request []byte) {
	namespace := strings.ReplaceAll("controllers-"+of.written+"-"+of.read, ".", "-")
	scheme := schemeOf(of.read)
	direct, err := client.New(configuration, client.Options{Scheme: schemeOf(of.written)})
	checks.NoError("client", err)
	checks.NoError("namespace", direct.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))

	first := start(ctx, configuration, scheme, namespace, "first")
	<-first.Elected()
	issue(ctx, direct, adminSigners[of.read], "of-first-"+namespace, request)
	checks.Same("approver", approverOf(ctx, direct, "of-first-"+namespace), "first")
	second := start(ctx, configuration, scheme, namespace, "second")
	first.end()
	<-second.Elected()
	issue(ctx, direct, adminSigners[of.read], "of-second-"+namespace, request)
	checks.Same("approver", approverOf(ctx, direct, "of-second-"+namespace), "second")
	for _, name := range []string{"of-first-", "of-second-"} {
		remove(ctx, direct, name+namespace)
	}
	second.end()

	// The events that the controller recorded: client-go has their upstream group built in.
	var recorded eventsv1.EventList
	eventually(ctx, "events", func() bool {
		return direct.List(ctx, &recorded, client.InNamespace("default")) == nil && count(recorded.Items, namespace) == 2
	})
	objects(ctx, direct, namespace)
	checks.NoError("deletion", direct.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
}

func count(recorded []eventsv1.Event, namespace string) (found int) {
	for _, event := range recorded {
		if event.Reason == "Approved" && strings.HasSuffix(event.Regarding.Name, namespace) {
			found++
		}
	}
	return found
}

type runningManager struct {
	ctrl.Manager
	end func()
}

func start(ctx context.Context, configuration *rest.Config, scheme *runtime.Scheme, namespace, name string) runningManager {
	manager, err := ctrl.NewManager(configuration, ctrl.Options{
		Scheme:                        scheme,
		LeaderElection:                true,
		LeaderElectionID:              "approver",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: "0"},
		Controller:                    config.Controller{SkipNameValidation: ptr(true)},
	})
	checks.NoError("manager", err)
	checks.NoError("controller", ctrl.NewControllerManagedBy(manager).
		Named("approver").
		For(&certificatesv1.CertificateSigningRequest{}).
		Complete(&approver{manager.GetClient(), manager.GetEventRecorder("approver"), name, namespace}))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	return runningManager{manager, func() {
		stop()
		checks.NoError("end of the manager", <-ended)
	}}
}

func ptr[T any](value T) *T { return &value }

// approver approves the requests of its test and says so; its finalizer sees them go.
type approver struct {
	client.Client
	recorder        events.EventRecorder
	name, namespace string
}

func (a *approver) Reconcile(ctx context.Context, asked reconcile.Request) (reconcile.Result, error) {
	var request certificatesv1.CertificateSigningRequest
	if err := a.Get(ctx, asked.NamespacedName, &request); err != nil || !strings.HasSuffix(request.Name, a.namespace) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !request.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(&request, finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(a.Update(ctx, &request))
	}
	if controllerutil.AddFinalizer(&request, finalizer) {
		return reconcile.Result{}, a.Update(ctx, &request) // the watch brings it again
	}
	if len(request.Status.Conditions) > 0 {
		return reconcile.Result{}, nil
	}
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: a.name,
	}}
	if err := a.SubResource("approval").Update(ctx, &request); err != nil {
		return reconcile.Result{}, err
	}
	a.recorder.Eventf(&request, nil, corev1.EventTypeNormal, "Approved", "Approve", "approved by %s", a.name)
	return reconcile.Result{}, nil
}

func issue(ctx context.Context, direct client.Client, signer, name string, request []byte) {
	asked := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    request,
			SignerName: signer,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}
	checks.NoError("request", direct.Create(ctx, asked))
	eventually(ctx, "a certificate", func() bool {
		return direct.Get(ctx, client.ObjectKeyFromObject(asked), asked) == nil && len(asked.Status.Certificate) > 0
	})
}

func approverOf(ctx context.Context, direct client.Client, name string) string {
	var request certificatesv1.CertificateSigningRequest
	checks.NoError("get", direct.Get(ctx, client.ObjectKey{Name: name}, &request))
	return request.Status.Conditions[0].Message
}

func remove(ctx context.Context, direct client.Client, name string) {
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
	checks.NoError("delete", direct.Delete(ctx, request))
	eventually(ctx, "the finalizer", func() bool {
		return apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(request), request))
	})
}

func objects(ctx context.Context, direct client.Client, namespace string) {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: namespace}, Data: map[string]string{"colour": "red"}}
	checks.NoError("create", direct.Create(ctx, owner))
	owned := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "owned", Namespace: namespace}}
	result, err := controllerutil.CreateOrUpdate(ctx, direct, owned, func() error {
		return controllerutil.SetControllerReference(owner, owned, direct.Scheme())
	})
	checks.NoError("create or update", err)
	checks.Same("create or update", result, controllerutil.OperationResultCreated)

	before := owner.DeepCopy()
	owner.Data["colour"] = "green"
	checks.NoError("merge patch", direct.Patch(ctx, owner, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	err = direct.Patch(ctx, before.DeepCopy(), client.MergeFromWithOptions(owner, client.MergeFromWithOptimisticLock{}))
	checks.NoError("merge patch back", err)
	err = direct.Update(ctx, before)
	checks.Expect("a late update", apierrors.IsConflict(err), err)

	applied := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"colour": "red"})
	checks.NoError("apply", direct.Apply(ctx, applied, client.FieldOwner("one")))
	applied.WithData(map[string]string{"colour": "blue"})
	err = direct.Apply(ctx, applied, client.FieldOwner("two"))
	checks.Expect("a conflict of applies", apierrors.IsConflict(err), err)
	checks.NoError("forced apply", direct.Apply(ctx, applied, client.FieldOwner("two"), client.ForceOwnership))

	checks.NoError("delete", direct.Delete(ctx, owner))
	eventually(ctx, "garbage collection", func() bool {
		return apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(owned), owned))
	})
}

func eventually(ctx context.Context, what string, isSo func() bool) {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return isSo(), nil })
	checks.NoError(what, err)
}
