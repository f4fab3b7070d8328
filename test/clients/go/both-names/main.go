// Writes in one spelling of the API groups, and reads, informs, changes and deletes in the other, with client-go's
// dynamic client: all four ways. Needs a server that serves both. Prints a line for each way; the first thing that goes
// wrong ends it with status 1.
//
//	go run ./both-names KUBECONFIG CERTIFICATE_REQUEST.pem
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"signet/test/clients/go/checks"
)

var (
	domains      = []string{"k8s.io", "platform.io"}
	adminSigners = map[string]string{
		"k8s.io":      "kubernetes.io/kube-apiserver-client",
		"platform.io": "platform.io/apiserver-client",
	}
	create = metav1.CreateOptions{}
)

type fields = map[string]any

// crossing writes in one spelling and reads in the other.
type crossing struct {
	written, read, namespace string
	config                   *rest.Config
	typed                    kubernetes.Interface
	dynamic                  dynamic.Interface
}

func main() {
	if len(os.Args) != 3 {
		checks.Fail("usage", fmt.Errorf("go run ./both-names KUBECONFIG CERTIFICATE_REQUEST.pem"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	checks.NoError("kubeconfig", err)
	config.QPS, config.Burst = 100, 100
	request, err := os.ReadFile(os.Args[2])
	checks.NoError("certificate request", err)
	ctx, stop := context.WithTimeout(context.Background(), 60*time.Second)
	defer stop()
	for _, written := range domains {
		for _, read := range domains {
			c := crossing{
				written:   written,
				read:      read,
				namespace: strings.ReplaceAll("go-"+written+"-"+read, ".", "-"),
				config:    config,
				typed:     kubernetes.NewForConfigOrDie(config),
				dynamic:   dynamic.NewForConfigOrDie(config),
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
			_, err := c.typed.CoreV1().Namespaces().Create(ctx, namespace, create)
			checks.NoError("namespace", err)
			c.leases(ctx)
			c.owners(ctx)
			c.rolesAndReviews(ctx)
			c.certificates(ctx, base64.StdEncoding.EncodeToString(request))
			c.events(ctx)
			checks.NoError("deletion", c.typed.CoreV1().Namespaces().Delete(ctx, c.namespace, metav1.DeleteOptions{}))
			checks.Done("written as " + written + ", read as " + read)
		}
	}
}

func version(domain, group, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group + "." + domain, Version: "v1", Resource: plural}
}

func object(domain, group, kind, name string, more fields) *unstructured.Unstructured {
	all := fields{"apiVersion": group + "." + domain + "/v1", "kind": kind, "metadata": fields{"name": name}}
	for field, value := range more {
		all[field] = value
	}
	return &unstructured.Unstructured{Object: all}
}

func (c *crossing) of(domain, group, plural string) dynamic.ResourceInterface {
	return c.dynamic.Resource(version(domain, group, plural)).Namespace(c.namespace)
}

func lease(domain, name, holder string) *unstructured.Unstructured {
	return object(domain, "coordination", "Lease", name, fields{"spec": fields{"holderIdentity": holder}})
}

func (c *crossing) leases(ctx context.Context) {
	ofWriter, ofReader := c.of(c.written, "coordination", "leases"), c.of(c.read, "coordination", "leases")
	seen := make(chan string, 16)
	say := func(word string) func(any) {
		return func(object any) { seen <- word + " " + object.(*unstructured.Unstructured).GetAPIVersion() }
	}
	informing, stop := context.WithCancel(ctx)
	defer stop()
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
	_, err := factory.ForResource(version(c.read, "coordination", "leases")).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    say("add"),
		UpdateFunc: func(_, object any) { say("update")(object) },
		DeleteFunc: say("delete"),
	})
	checks.NoError("handler", err)
	factory.Start(informing.Done())
	next := func(word string) {
		wanted := word + " coordination." + c.read + "/v1"
		for {
			select {
			case one := <-seen:
				if one == wanted {
					return
				}
				// Each apply is an update too.
				checks.Same("event", strings.Fields(one)[0], "update")
			case <-ctx.Done():
				checks.Fail(wanted, ctx.Err())
			}
		}
	}

	created, err := ofWriter.Create(ctx, lease(c.written, "lease", "one"), create)
	checks.NoError("create", err)
	checks.Same("created", created.GetAPIVersion(), "coordination."+c.written+"/v1")
	next("add")
	_, err = ofReader.Patch(ctx, "lease", types.MergePatchType, []byte(`{"metadata":{"labels":{"colour":"red"}}}`), metav1.PatchOptions{})
	checks.NoError("patch", err)
	next("update")
	patched, err := ofWriter.Get(ctx, "lease", metav1.GetOptions{})
	checks.NoError("get", err)
	checks.Same("labels", patched.GetLabels(), map[string]string{"colour": "red"})

	_, err = ofWriter.Apply(ctx, "lease", lease(c.written, "lease", "a"), metav1.ApplyOptions{FieldManager: "a", Force: true})
	checks.NoError("apply", err)
	_, err = ofReader.Apply(ctx, "lease", lease(c.read, "lease", "b"), metav1.ApplyOptions{FieldManager: "b"})
	checks.Expect("a conflict of applies", apierrors.IsConflict(err), err)
	applied, err := ofReader.Apply(ctx, "lease", lease(c.read, "lease", "b"), metav1.ApplyOptions{FieldManager: "b", Force: true})
	checks.NoError("forced apply", err)
	owners := []string{}
	for _, owned := range applied.GetManagedFields() {
		if strings.Contains(string(owned.FieldsV1.Raw), "f:holderIdentity") {
			owners = append(owners, owned.Manager)
		}
	}
	checks.Same("owners", owners, []string{"b"})
	checks.NoError("delete", ofReader.Delete(ctx, "lease", metav1.DeleteOptions{}))
	next("delete")
}

func (c *crossing) owners(ctx context.Context) {
	leases, maps := c.of(c.written, "coordination", "leases"), c.typed.CoreV1().ConfigMaps(c.namespace)
	owner, err := leases.Create(ctx, lease(c.written, "owner", "one"), create)
	checks.NoError("owner", err)
	reference := metav1.OwnerReference{APIVersion: "coordination." + c.read + "/v1", Kind: "Lease", Name: "owner", UID: owner.GetUID()}
	owned, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{reference}}}, create)
	checks.NoError("owned", err)
	watch, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: owned.ResourceVersion, FieldSelector: "metadata.name=owned"})
	checks.NoError("watch", err)
	defer watch.Stop()
	checks.NoError("delete", leases.Delete(ctx, "owner", metav1.DeleteOptions{}))
	checks.Same("collected", string((<-watch.ResultChan()).Type), "DELETED")
}

func (c *crossing) rolesAndReviews(ctx context.Context) {
	const access = "rbac.authorization"
	rule := fields{"apiGroups": []any{"coordination." + c.read}, "resources": []any{"leases"}, "verbs": []any{"list"}}
	_, err := c.of(c.written, access, "roles").Create(ctx, object(c.written, access, "Role", "reader", fields{"rules": []any{rule}}), create)
	checks.NoError("role", err)
	_, err = c.of(c.read, access, "rolebindings").Create(ctx, object(c.read, access, "RoleBinding", "robot-reads", fields{
		"roleRef":  fields{"apiGroup": access + "." + c.written, "kind": "Role", "name": "reader"},
		"subjects": []any{fields{"kind": "ServiceAccount", "name": "robot", "namespace": c.namespace}},
	}), create)
	checks.NoError("role binding", err)
	robots := c.typed.CoreV1().ServiceAccounts(c.namespace)
	_, err = robots.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, create)
	checks.NoError("service account", err)
	issued, err := robots.CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, create)
	checks.NoError("token", err)
	ofRobot := rest.AnonymousClientConfig(c.config)
	ofRobot.BearerToken = issued.Status.Token
	asRobot := dynamic.NewForConfigOrDie(ofRobot)
	for _, domain := range []string{c.written, c.read} {
		sent := object(domain, "authentication", "TokenReview", "", fields{"spec": fields{"token": issued.Status.Token}})
		review, err := c.dynamic.Resource(version(domain, "authentication", "tokenreviews")).Create(ctx, sent, create)
		checks.NoError("token review", err)
		checks.Same("version of the review", review.GetAPIVersion(), "authentication."+domain+"/v1")
		user, _, _ := unstructured.NestedString(review.Object, "status", "user", "username")
		checks.Same("user", user, "system:serviceaccount:"+c.namespace+":robot")
		_, err = asRobot.Resource(version(domain, "coordination", "leases")).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		checks.NoError("what the role allows", err)
		_, err = asRobot.Resource(version(domain, access, "roles")).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		checks.Expect("what no role allows", apierrors.IsForbidden(err), err)
	}
}

func (c *crossing) certificates(ctx context.Context, request string) {
	ofWriter := c.dynamic.Resource(version(c.written, "certificates", "certificatesigningrequests"))
	ofReader := c.dynamic.Resource(version(c.read, "certificates", "certificatesigningrequests"))
	spec := fields{"request": request, "signerName": adminSigners[c.read], "usages": []any{"client auth"}}
	_, err := ofWriter.Create(ctx, object(c.written, "certificates", "CertificateSigningRequest", c.namespace, fields{"spec": spec}), create)
	checks.NoError("request", err)
	approval, err := ofReader.Get(ctx, c.namespace, metav1.GetOptions{})
	checks.NoError("get", err)
	approved := fields{"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
	approval.Object["status"] = fields{"conditions": []any{approved}}
	_, err = ofReader.Update(ctx, approval, metav1.UpdateOptions{}, "approval")
	checks.NoError("approval", err)
	watch, err := ofWriter.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + c.namespace})
	checks.NoError("watch", err)
	defer watch.Stop()
	for event := range watch.ResultChan() {
		issued := event.Object.(*unstructured.Unstructured)
		encoded, isThere, _ := unstructured.NestedString(issued.Object, "status", "certificate")
		if !isThere {
			continue
		}
		chain, err := base64.StdEncoding.DecodeString(encoded)
		checks.Expect("a certificate", strings.HasPrefix(string(chain), "-----BEGIN CERTIFICATE-----"), err)
		signer, _, _ := unstructured.NestedString(issued.Object, "spec", "signerName")
		checks.Same("a value stays as it was written", signer, adminSigners[c.read])
		break
	}
	checks.NoError("in time", ctx.Err())
	checks.NoError("delete", ofReader.Delete(ctx, c.namespace, metav1.DeleteOptions{}))
}

func (c *crossing) events(ctx context.Context) {
	_, err := c.of(c.written, "events", "events").Create(ctx, object(c.written, "events", "Event", "tried", fields{
		"eventTime":           "2026-01-01T00:00:00.000000Z",
		"regarding":           fields{"kind": "Namespace", "name": c.namespace, "namespace": c.namespace},
		"reportingController": "example.com/test",
		"reportingInstance":   "test-1",
		"action":              "Try",
		"reason":              "Tried",
		"type":                "Normal",
		"note":                "It was tried.",
	}), create)
	checks.NoError("event", err)
	read, err := c.of(c.read, "events", "events").Get(ctx, "tried", metav1.GetOptions{})
	checks.NoError("get", err)
	checks.Same("note", read.Object["note"], any("It was tried."))
	core, err := c.typed.CoreV1().Events(c.namespace).Get(ctx, "tried", metav1.GetOptions{})
	checks.NoError("core event", err)
	checks.Same("message", core.Message, "It was tried.")
}
