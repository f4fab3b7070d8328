// Speaks to a server with client-go: the typed clientset over protobuf, shared informers, the dynamic client, leader
// election and its events, and a certificate from its request to its use. Prints one line for each thing that worked; the first that
// does not ends it with status 1.
//
//	go run ./client-go KUBECONFIG
package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	"signet/test/clients/go/checks"
)

const (
	namespace = "go-clients"
	protobuf  = "application/vnd.kubernetes.protobuf"
)

var (
	get    = metav1.GetOptions{}
	create = metav1.CreateOptions{}
)

func main() {
	if len(os.Args) < 2 {
		checks.Fail("usage", fmt.Errorf("go run ./client-go KUBECONFIG"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	checks.NoError("kubeconfig", err)
	binary := rest.CopyConfig(config)
	// Nothing but protobuf, so that no answer in JSON goes unnoticed.
	binary.ContentType, binary.AcceptContentTypes = protobuf, protobuf
	ctx, stop := context.WithTimeout(context.Background(), 60*time.Second)
	defer stop()

	typed := kubernetes.NewForConfigOrDie(binary)
	_, err = typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, create)
	checks.NoError("namespace", err)
	changes(ctx, typed)
	pods(ctx, typed)
	tokens(ctx, typed, config)
	follow(ctx, typed)
	objects(ctx, config)
	lead(ctx, typed)
	certify(ctx, typed, config)
	checks.NoError("deletion", typed.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	checks.Done("everything")
}

func changes(ctx context.Context, typed kubernetes.Interface) {
	maps := typed.CoreV1().ConfigMaps(namespace)
	created, err := maps.Create(ctx, configMap("settings"), create)
	checks.NoError("create", err)
	read, err := maps.Get(ctx, "settings", get)
	checks.NoError("get", err)
	checks.Same("get", read, created)
	read.Data["colour"] = "green"
	_, err = maps.Update(ctx, read, metav1.UpdateOptions{})
	checks.NoError("update", err)
	_, err = maps.Update(ctx, read, metav1.UpdateOptions{})
	checks.Expect("a late update", apierrors.IsConflict(err), err)
	patched, err := maps.Patch(ctx, "settings", types.StrategicMergePatchType, []byte(`{"data":{"size":"2"}}`), metav1.PatchOptions{})
	checks.NoError("patch", err)
	checks.Same("patch", patched.Data, map[string]string{"colour": "green", "size": "2"})
	checks.Done("create, get, update, patch")

	apply := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"colour": "red"})
	_, err = maps.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "one"})
	checks.NoError("apply", err)
	apply.WithData(map[string]string{"colour": "green"})
	_, err = maps.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "two"})
	checks.Expect("a conflict of applies", apierrors.IsConflict(err), err)
	applied, err := maps.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "two", Force: true})
	checks.NoError("forced apply", err)
	checks.Same("forced apply", applied.Data, map[string]string{"colour": "green"})
	checks.Done("apply, conflicts, force")

	page, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
	checks.NoError("first page", err)
	rest, err := maps.List(ctx, metav1.ListOptions{Continue: page.Continue})
	checks.NoError("other pages", err)
	checks.Expect("pages", len(page.Items) == 1 && len(rest.Items) >= 1 && rest.Continue == "", nil)
	_, err = maps.Get(ctx, "nothing", get)
	checks.Expect("not found", apierrors.IsNotFound(err), err)
	_, err = maps.Create(ctx, configMap("settings"), create)
	checks.Expect("already exists", apierrors.IsAlreadyExists(err), err)
	_, err = maps.Create(ctx, configMap("Wrong_Name"), create)
	checks.Expect("invalid", apierrors.IsInvalid(err), err)
	checks.NoError("deletecollection", maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "sample"}))
	checks.Done("pages, errors, deletecollection")
}

func pods(ctx context.Context, typed kubernetes.Interface) {
	seconds := int64(600)
	sent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:         "main",
				Image:        "worker:1",
				Env:          []corev1.EnvVar{{Name: "COLOUR", Value: "red"}},
				Ports:        []corev1.ContainerPort{{ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/token"}},
			}},
			Tolerations: []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}},
			Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: "token", ExpirationSeconds: &seconds}}},
			}}}},
		},
	}
	_, err := typed.CoreV1().Pods(namespace).Create(ctx, sent, create)
	checks.NoError("create a Pod", err)
	read, err := typed.CoreV1().Pods(namespace).Get(ctx, "worker", get)
	checks.NoError("get a Pod", err)
	checks.Same("environment", read.Spec.Containers[0].Env, sent.Spec.Containers[0].Env)
	checks.Same("ports", read.Spec.Containers[0].Ports, sent.Spec.Containers[0].Ports)
	checks.Same("tolerations", read.Spec.Tolerations[0], sent.Spec.Tolerations[0])
	checks.Same("volumes", read.Spec.Volumes[0].Projected.Sources, sent.Spec.Volumes[0].Projected.Sources)
	checks.Done("Pods, whole")
}

func tokens(ctx context.Context, typed kubernetes.Interface, config *rest.Config) {
	accounts := typed.CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, create)
	checks.NoError("service account", err)
	issued, err := accounts.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, create)
	checks.NoError("token", err)
	review, err := typed.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: issued.Status.Token},
	}, create)
	checks.NoError("token review", err)
	checks.Same("token review", review.Status.User.Username, "system:serviceaccount:"+namespace+":robot")

	robot := rest.AnonymousClientConfig(config)
	robot.BearerToken = issued.Status.Token
	asRobot := kubernetes.NewForConfigOrDie(robot)
	self, err := asRobot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, create)
	checks.NoError("self review", err)
	checks.Same("self review", self.Status.UserInfo.Username, review.Status.User.Username)
	_, err = asRobot.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	checks.Expect("forbidden", apierrors.IsForbidden(err), err)
	access, err := typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "ann",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Resource: "secrets"},
		},
	}, create)
	checks.NoError("access review", err)
	checks.Expect("access denied", !access.Status.Allowed, nil)
	robot.BearerToken = "no.such.token"
	_, err = kubernetes.NewForConfigOrDie(robot).CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	checks.Expect("unauthorized", apierrors.IsUnauthorized(err), err)
	checks.Done("tokens and reviews")
}

// Shared informers watch over protobuf, first with a streaming list where the server has it.
func follow(ctx context.Context, typed kubernetes.Interface) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	factory := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(namespace))
	accounts := factory.Core().V1().ServiceAccounts()
	seen := make(chan string, 16)
	_, err := accounts.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { seen <- "add " + object.(*corev1.ServiceAccount).Name },
		UpdateFunc: func(_, object any) {
			seen <- "update " + object.(*corev1.ServiceAccount).Name
		},
		DeleteFunc: func(object any) { seen <- "delete " + object.(*corev1.ServiceAccount).Name },
	})
	checks.NoError("handler", err)
	// Every other kind that the clientset has and the server serves is followed too.
	factory.Core().V1().Pods().Informer()
	factory.Core().V1().Secrets().Informer()
	factory.Core().V1().Nodes().Informer()
	factory.Core().V1().Events().Informer()
	factory.Rbac().V1().ClusterRoles().Informer()
	factory.Rbac().V1().RoleBindings().Informer()
	factory.Certificates().V1().CertificateSigningRequests().Informer()
	factory.Certificates().V1beta1().ClusterTrustBundles().Informer()
	factory.Coordination().V1().Leases().Informer()
	factory.Start(watching.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		checks.Expect("sync of "+kind.String(), synced, nil)
	}
	client := typed.CoreV1().ServiceAccounts(namespace)
	_, err = client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "followed"}}, create)
	checks.NoError("create", err)
	await(ctx, seen, "add followed")
	_, err = client.Patch(ctx, "followed", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	checks.NoError("patch", err)
	await(ctx, seen, "update followed")
	cached, err := accounts.Lister().ServiceAccounts(namespace).Get("followed")
	checks.NoError("lister", err)
	checks.Same("lister", cached.Labels, map[string]string{"a": "b"})
	checks.NoError("delete", client.Delete(ctx, "followed", metav1.DeleteOptions{}))
	await(ctx, seen, "delete followed")
	checks.Done("informers of ten kinds")
}

func objects(ctx context.Context, config *rest.Config) {
	client := dynamic.NewForConfigOrDie(config)
	for _, group := range []string{"coordination.k8s.io", "coordination.platform.io"} {
		leases := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "leases"}).Namespace(namespace)
		lease := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1",
			"kind":       "Lease",
			"metadata":   map[string]any{"name": "dynamic"},
			"spec":       map[string]any{"holderIdentity": "me"},
		}}
		created, err := leases.Create(ctx, lease, create)
		checks.NoError("create", err)
		watch, err := leases.Watch(ctx, metav1.ListOptions{ResourceVersion: created.GetResourceVersion(), FieldSelector: "metadata.name=dynamic"})
		checks.NoError("watch", err)
		checks.NoError("delete", leases.Delete(ctx, "dynamic", metav1.DeleteOptions{}))
		event := <-watch.ResultChan()
		checks.Same("watch", string(event.Type), "DELETED")
		checks.Same("watch", event.Object.(*unstructured.Unstructured).GetAPIVersion(), group+"/v1")
		watch.Stop()
	}
	checks.Done("dynamic client")
}

// Leader election as controllers do it, with the events that it records.
func lead(ctx context.Context, typed kubernetes.Interface) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: typed.CoreV1().Events(namespace)})
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "go-client"})
	events, err := typed.CoreV1().Events(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Lease"})
	checks.NoError("watch of events", err)
	leading, resign := context.WithCancel(ctx)
	led := false
	leaderelection.RunOrDie(leading, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
			Client:     typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me", EventRecorder: recorder},
		},
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { led = true; resign() },
			OnStoppedLeading: func() {},
		},
	})
	checks.Expect("leading", led, nil)
	lease, err := typed.CoordinationV1().Leases(namespace).Get(ctx, "leader", get)
	checks.NoError("lease", err)
	checks.Same("released lease", *lease.Spec.HolderIdentity, "")
	event := (<-events.ResultChan()).Object.(*corev1.Event)
	checks.Same("event", event.Reason, "LeaderElection")
	checks.Done("leader election and its events")
}

// A certificate as certificate managers get it: with a request that is found again, and a wait for its issue.
func certify(ctx context.Context, typed kubernetes.Interface, config *rest.Config) {
	keyPem, err := keyutil.MakeEllipticPrivateKeyPEM()
	checks.NoError("key", err)
	key, err := keyutil.ParsePrivateKeyPEM(keyPem)
	checks.NoError("key", err)
	request, err := cert.MakeCSR(key, &pkix.Name{CommonName: "ann"}, nil, nil)
	checks.NoError("request", err)
	lifetime := time.Hour
	ask := func(name string) (string, types.UID, error) {
		return csr.RequestCertificateWithContext(ctx, typed, request, name, certificatesv1.KubeAPIServerClientSignerName, &lifetime, []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}, key)
	}
	name, uid, err := ask("")
	checks.NoError("request", err)
	again, _, err := ask(name)
	checks.NoError("the same request", err)
	checks.Same("the same request", again, name)
	requests := typed.CertificatesV1().CertificateSigningRequests()
	approved, err := requests.Get(ctx, name, get)
	checks.NoError("get the request", err)
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue})
	_, err = requests.UpdateApproval(ctx, name, approved, metav1.UpdateOptions{})
	checks.NoError("approval", err)
	issued, err := csr.WaitForCertificate(ctx, typed, name, uid)
	checks.NoError("certificate", err)
	ann := rest.AnonymousClientConfig(config)
	ann.CertData, ann.KeyData = issued, keyPem
	self, err := kubernetes.NewForConfigOrDie(ann).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, create)
	checks.NoError("self review with the certificate", err)
	checks.Same("self review with the certificate", self.Status.UserInfo.Username, "ann")
	checks.Done("a certificate, from request to use")
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"sample": "yes"}},
		Data:       map[string]string{"colour": "red"},
	}
}

func await(ctx context.Context, seen <-chan string, wanted string) {
	for {
		select {
		case one := <-seen:
			if one == wanted {
				return
			}
		case <-ctx.Done():
			checks.Fail(wanted, ctx.Err())
		}
	}
}
