import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.ServiceAccountBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenRequestBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Informable;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Writes in one spelling of the API groups, and reads, informs, changes and deletes in the other: all four ways. Needs a
 * server that serves both. Prints a line for each way; the first thing that goes wrong ends it with status 1.
 *
 * <p>java -cp "libs/*" BothNames.java KUBECONFIG REQUEST.pem
 */
public class BothNames {
  static final Map<String, String> ADMIN_SIGNERS = new LinkedHashMap<>();

  static {
    ADMIN_SIGNERS.put("k8s.io", "kubernetes.io/kube-apiserver-client");
    ADMIN_SIGNERS.put("platform.io", "platform.io/apiserver-client");
  }

  final KubernetesClient client;
  final String written;
  final String read;
  final String namespace;

  BothNames(KubernetesClient client, String written, String read) {
    this.client = client;
    this.written = written;
    this.read = read;
    this.namespace = ("java-" + written + "-" + read).replace('.', '-');
  }

  public static void main(String[] arguments) throws Exception {
    Config config = Config.fromKubeconfig(Files.readString(Path.of(arguments[0])));
    String request = Base64.getEncoder().encodeToString(Files.readAllBytes(Path.of(arguments[1])));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      for (String written : ADMIN_SIGNERS.keySet()) {
        for (String read : ADMIN_SIGNERS.keySet()) {
          new BothNames(client, written, read).run(request);
          System.out.println("ok: written as " + written + ", read as " + read);
        }
      }
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.exit(1);
    }
    System.exit(0); // whatever threads a client may have left
  }

  void run(String request) throws Exception {
    client.namespaces().resource(new NamespaceBuilder().withNewMetadata().withName(namespace).endMetadata().build()).create();
    leases();
    owners();
    rolesAndReviews();
    certificates(request);
    events();
    client.namespaces().withName(namespace).delete();
  }

  static boolean isNamespaced(String kind) {
    return !List.of("CertificateSigningRequest", "TokenReview").contains(kind);
  }

  NonNamespaceOperation<GenericKubernetesResource, ?, Resource<GenericKubernetesResource>> kind(
      KubernetesClient client, String domain, String group, String kind) {
    var operation = client.genericKubernetesResources(new ResourceDefinitionContext.Builder()
        .withGroup(group + "." + domain)
        .withVersion("v1")
        .withKind(kind)
        .withPlural(kind.toLowerCase() + "s")
        .withNamespaced(isNamespaced(kind))
        .build());
    return isNamespaced(kind) ? operation.inNamespace(namespace) : operation;
  }

  NonNamespaceOperation<GenericKubernetesResource, ?, Resource<GenericKubernetesResource>> kind(String domain, String group, String kind) {
    return kind(client, domain, group, kind);
  }

  GenericKubernetesResource object(String domain, String group, String kind, String name, Map<String, Object> fields) {
    GenericKubernetesResource object = new GenericKubernetesResource();
    object.setApiVersion(group + "." + domain + "/v1");
    object.setKind(kind);
    object.setMetadata(new ObjectMetaBuilder().withName(name).withNamespace(isNamespaced(kind) ? namespace : null).build());
    object.setAdditionalProperties(new LinkedHashMap<>(fields));
    return object;
  }

  GenericKubernetesResource lease(String domain, String name, String holder) {
    return object(domain, "coordination", "Lease", name, Map.of("spec", Map.of("holderIdentity", holder)));
  }

  void leases() throws Exception {
    var ofWriter = kind(written, "coordination", "Lease");
    var ofReader = kind(read, "coordination", "Lease");
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    ResourceEventHandler<GenericKubernetesResource> handler = new ResourceEventHandler<>() {
      @Override
      public void onAdd(GenericKubernetesResource lease) {
        seen.add("add " + lease.getApiVersion());
      }

      @Override
      public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource lease) {
        seen.add("update " + lease.getApiVersion());
      }

      @Override
      public void onDelete(GenericKubernetesResource lease, boolean isUnknown) {
        seen.add("delete " + lease.getApiVersion());
      }
    };
    try (SharedIndexInformer<GenericKubernetesResource> informer = ((Informable<GenericKubernetesResource>) ofReader).inform(handler)) {
      same("created", ofWriter.resource(lease(written, "lease", "one")).create().getApiVersion(), "coordination." + written + "/v1");
      same("added", seen.poll(20, TimeUnit.SECONDS), "add coordination." + read + "/v1");
      ofReader.withName("lease").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"metadata\":{\"labels\":{\"colour\":\"red\"}}}");
      same("patched", ofWriter.withName("lease").get().getMetadata().getLabels(), Map.of("colour", "red"));
      same("updated", seen.poll(20, TimeUnit.SECONDS), "update coordination." + read + "/v1");

      ofWriter.resource(lease(written, "lease", "a")).fieldManager("a").forceConflicts().serverSideApply();
      refused(409, () -> ofReader.resource(lease(read, "lease", "b")).fieldManager("b").serverSideApply());
      ofReader.resource(lease(read, "lease", "b")).fieldManager("b").forceConflicts().serverSideApply();
      List<String> owners = ofWriter.withName("lease").get().getMetadata().getManagedFields().stream()
          .filter(owned -> owned.getFieldsV1().getAdditionalProperties().containsKey("f:spec"))
          .map(owned -> owned.getManager())
          .toList();
      same("owners", owners, List.of("b"));

      ofReader.withName("lease").delete();
      String last;
      do last = seen.poll(20, TimeUnit.SECONDS);
      while (last != null && last.startsWith("update "));
      same("deleted", last, "delete coordination." + read + "/v1");
    }
  }

  void owners() throws Exception {
    var leases = kind(written, "coordination", "Lease");
    String uid = leases.resource(lease(written, "owner", "one")).create().getMetadata().getUid();
    ConfigMap owned = new ConfigMapBuilder()
        .withNewMetadata().withName("owned")
        .addNewOwnerReference().withApiVersion("coordination." + read + "/v1").withKind("Lease").withName("owner").withUid(uid).endOwnerReference()
        .endMetadata()
        .build();
    client.configMaps().inNamespace(namespace).resource(owned).create();
    leases.withName("owner").delete();
    client.configMaps().inNamespace(namespace).withName("owned").waitUntilCondition(Objects::isNull, 20, TimeUnit.SECONDS);
  }

  void rolesAndReviews() {
    String access = "rbac.authorization";
    Map<String, Object> rule = Map.of("apiGroups", List.of("coordination." + read), "resources", List.of("leases"), "verbs", List.of("list"));
    kind(written, access, "Role").resource(object(written, access, "Role", "reader", Map.of("rules", List.of(rule)))).create();
    kind(read, access, "RoleBinding").resource(object(read, access, "RoleBinding", "robot-reads", Map.of(
        "roleRef", Map.of("apiGroup", access + "." + written, "kind", "Role", "name", "reader"),
        "subjects", List.of(Map.of("kind", "ServiceAccount", "name", "robot", "namespace", namespace))))).create();
    var robots = client.serviceAccounts().inNamespace(namespace);
    robots.resource(new ServiceAccountBuilder().withNewMetadata().withName("robot").endMetadata().build()).create();
    String token = robots.withName("robot").tokenRequest(new TokenRequestBuilder().withNewSpec().endSpec().build()).getStatus().getToken();
    Config ofRobot = new ConfigBuilder().withAutoConfigure(false)
        .withMasterUrl(client.getMasterUrl().toString())
        .withCaCertData(client.getConfiguration().getCaCertData())
        .withOauthToken(token)
        .build();
    try (KubernetesClient asRobot = new KubernetesClientBuilder().withConfig(ofRobot).build()) {
      for (String domain : List.of(written, read)) {
        var review = kind(domain, "authentication", "TokenReview")
            .resource(object(domain, "authentication", "TokenReview", "", Map.of("spec", Map.of("token", token)))).create();
        same("version of the review", review.getApiVersion(), "authentication." + domain + "/v1");
        same("user", review.get("status", "user", "username"), "system:serviceaccount:" + namespace + ":robot");
        kind(asRobot, domain, "coordination", "Lease").list();
        refused(403, () -> kind(asRobot, domain, access, "Role").list());
      }
    }
  }

  void certificates(String request) {
    String name = namespace;
    Map<String, Object> spec = Map.of("request", request, "signerName", ADMIN_SIGNERS.get(read), "usages", List.of("client auth"));
    var ofReader = kind(read, "certificates", "CertificateSigningRequest");
    var ofWriter = kind(written, "certificates", "CertificateSigningRequest");
    ofWriter.resource(object(written, "certificates", "CertificateSigningRequest", name, Map.of("spec", spec))).create();
    Map<String, Object> approved = Map.of("type", "Approved", "status", "True", "reason", "Test", "message", "by a test");
    GenericKubernetesResource approval = ofReader.withName(name).get();
    approval.setAdditionalProperty("status", Map.of("conditions", List.of(approved)));
    ofReader.resource(approval).subresource("approval").update();
    GenericKubernetesResource issued = ofWriter.withName(name).waitUntilCondition(
        one -> one != null && one.get("status", "certificate") != null, 20, TimeUnit.SECONDS);
    String chain = new String(Base64.getDecoder().decode((String) issued.get("status", "certificate")));
    same("a certificate", chain.startsWith("-----BEGIN CERTIFICATE-----"), true);
    same("a value stays as it was written", issued.get("spec", "signerName"), ADMIN_SIGNERS.get(read));
    ofReader.withName(name).delete();
  }

  void events() {
    Map<String, Object> fields = new LinkedHashMap<>(Map.of(
        "eventTime", "2026-01-01T00:00:00.000000Z",
        "regarding", Map.of("kind", "Namespace", "name", namespace, "namespace", namespace),
        "reportingController", "example.com/test",
        "reportingInstance", "test-1",
        "action", "Try",
        "reason", "Tried",
        "type", "Normal",
        "note", "It was tried."));
    kind(written, "events", "Event").resource(object(written, "events", "Event", "tried", fields)).create();
    same("note", kind(read, "events", "Event").withName("tried").get().get("note"), "It was tried.");
    same("message", client.v1().events().inNamespace(namespace).withName("tried").get().getMessage(), "It was tried.");
  }

  static void same(String what, Object actual, Object wanted) {
    if (!Objects.equals(actual, wanted)) throw new AssertionError(what + ": got " + actual + ", want " + wanted);
  }

  static void refused(int code, Runnable call) {
    try {
      call.run();
    } catch (KubernetesClientException error) {
      same("code of the refusal", error.getCode(), code);
      return;
    }
    throw new AssertionError("not refused with " + code);
  }
}
