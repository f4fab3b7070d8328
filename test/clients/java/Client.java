import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.ServiceAccountBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenRequestBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenReview;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewBuilder;
import io.fabric8.kubernetes.api.model.authorization.v1.SubjectAccessReviewBuilder;
import io.fabric8.kubernetes.api.model.certificates.v1.CertificateSigningRequest;
import io.fabric8.kubernetes.api.model.certificates.v1.CertificateSigningRequestBuilder;
import io.fabric8.kubernetes.api.model.certificates.v1.CertificateSigningRequestConditionBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Speaks to a server with fabric8's client as it comes: changes, watches over WebSocket, informers, tokens, certificates,
 * leader election. Prints a line for each thing that worked; the first that does not ends it with status 1.
 *
 * <p>mvn dependency:copy-dependencies -DoutputDirectory=libs && java -cp "libs/*" Client.java KUBECONFIG REQUEST.pem
 */
public class Client {
  static final String NAMESPACE = "java-clients";

  public static void main(String[] arguments) throws Exception {
    Config config = Config.fromKubeconfig(Files.readString(Path.of(arguments[0])));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      client.namespaces().resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
      changes(client);
      watches(client);
      informers(client);
      tokens(client, config);
      certificates(client, Files.readString(Path.of(arguments[1])));
      leads(client);
      client.namespaces().withName(NAMESPACE).delete();
      done("everything");
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.exit(1);
    }
    System.exit(0); // whatever threads a client may have left
  }

  static ConfigMap settings(String name) {
    return new ConfigMapBuilder()
        .withNewMetadata().withName(name).withNamespace(NAMESPACE).addToLabels("sample", "yes").endMetadata()
        .addToData("colour", "red")
        .build();
  }

  static void changes(KubernetesClient client) {
    var maps = client.configMaps().inNamespace(NAMESPACE);
    ConfigMap created = maps.resource(settings("settings")).create();
    same("get", maps.withName("settings").get(), created);
    ConfigMap green = new ConfigMapBuilder(created).addToData("colour", "green").build();
    maps.resource(green).update();
    refused(409, () -> maps.resource(green).lockResourceVersion(created.getMetadata().getResourceVersion()).update());
    ConfigMap patched = maps.withName("settings").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"size\":\"2\"}}");
    same("merge patch", patched.getData(), Map.of("colour", "green", "size", "2"));
    patched = maps.withName("settings").patch(PatchContext.of(PatchType.STRATEGIC_MERGE), "{\"data\":{\"size\":null}}");
    same("strategic patch", patched.getData(), Map.of("colour", "green"));
    patched = maps.withName("settings").edit(map -> new ConfigMapBuilder(map).addToData("shape", "round").build());
    same("edit (JSON patch)", patched.getData(), Map.of("colour", "green", "shape", "round"));
    done("create, get, update, patches, edit");

    maps.resource(settings("applied")).fieldManager("one").serverSideApply();
    ConfigMap other = new ConfigMapBuilder(settings("applied")).addToData("colour", "blue").build();
    refused(409, () -> maps.resource(other).fieldManager("two").serverSideApply());
    same("forced apply", maps.resource(other).fieldManager("two").forceConflicts().serverSideApply().getData(), Map.of("colour", "blue"));
    done("apply, conflicts, force");

    same("list", maps.withLabel("sample").list().getItems().size(), 2);
    same("a missing one", maps.withName("nothing").get(), null);
    refused(409, () -> maps.resource(settings("settings")).create());
    refused(422, () -> maps.resource(settings("Wrong_Name")).create());
    maps.withLabel("sample").delete();
    same("list after deletion", maps.withLabel("sample").list().getItems(), List.of());
    done("list, errors, deletecollection");
  }

  /** The client asks for a WebSocket by default. */
  static void watches(KubernetesClient client) throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    var accounts = client.serviceAccounts().inNamespace(NAMESPACE);
    Watcher<ServiceAccount> watcher = new Watcher<>() {
      @Override
      public void eventReceived(Action action, ServiceAccount account) {
        seen.add(action + " " + account.getMetadata().getName());
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed: " + cause.getMessage());
      }
    };
    try (Watch watch = accounts.withName("followed").watch(watcher)) {
      follow(accounts.resource(account("followed"))::create, accounts.withName("followed"), seen, List.of("ADDED", "MODIFIED", "DELETED"));
    }
    done("watch over WebSocket");
  }

  static void informers(KubernetesClient client) throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    ResourceEventHandler<ServiceAccount> handler = new ResourceEventHandler<>() {
      @Override
      public void onAdd(ServiceAccount account) {
        if (account.getMetadata().getName().equals("informed")) seen.add("add informed");
      }

      @Override
      public void onUpdate(ServiceAccount before, ServiceAccount account) {
        seen.add("update " + account.getMetadata().getName());
      }

      @Override
      public void onDelete(ServiceAccount account, boolean isUnknown) {
        seen.add("delete " + account.getMetadata().getName());
      }
    };
    var accounts = client.serviceAccounts().inNamespace(NAMESPACE);
    try (SharedIndexInformer<ServiceAccount> informer = accounts.inform(handler)) {
      follow(accounts.resource(account("informed"))::create, accounts.withName("informed"), seen, List.of("add", "update", "delete"));
    }
    done("informer");
  }

  static ServiceAccount account(String name) {
    return new ServiceAccountBuilder().withNewMetadata().withName(name).endMetadata().build();
  }

  static void follow(
      Runnable create, io.fabric8.kubernetes.client.dsl.Resource<ServiceAccount> account, BlockingQueue<String> seen, List<String> words)
      throws InterruptedException {
    create.run();
    String name = account.get().getMetadata().getName();
    account.patch(PatchContext.of(PatchType.JSON_MERGE), "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    account.delete();
    for (String word : words) same("event", seen.poll(20, TimeUnit.SECONDS), word + " " + name);
  }

  static void tokens(KubernetesClient client, Config config) {
    var robots = client.serviceAccounts().inNamespace(NAMESPACE);
    robots.resource(account("robot")).create();
    String token = robots.withName("robot").tokenRequest(new TokenRequestBuilder().withNewSpec().endSpec().build()).getStatus().getToken();
    String username = "system:serviceaccount:" + NAMESPACE + ":robot";
    TokenReview review = client.tokenReviews().create(new TokenReviewBuilder().withNewSpec().withToken(token).endSpec().build());
    same("token review", review.getStatus().getUser().getUsername(), username);
    Config ofRobot = new ConfigBuilder().withAutoConfigure(false).withMasterUrl(config.getMasterUrl()).withCaCertData(config.getCaCertData()).withOauthToken(token).build();
    try (KubernetesClient asRobot = new KubernetesClientBuilder().withConfig(ofRobot).build()) {
      refused(403, () -> asRobot.secrets().inNamespace(NAMESPACE).list());
    }
    var access = new SubjectAccessReviewBuilder().withNewSpec().withUser("ann").withNewResourceAttributes().withVerb("get").withResource("secrets").endResourceAttributes().endSpec().build();
    same("access review", client.authorization().v1().subjectAccessReview().create(access).getStatus().getAllowed(), false);
    done("tokens and reviews");
  }

  static void certificates(KubernetesClient client, String pem) throws Exception {
    String name = "java-client";
    var requests = client.certificates().v1().certificateSigningRequests();
    requests.resource(new CertificateSigningRequestBuilder()
        .withNewMetadata().withName(name).endMetadata()
        .withNewSpec()
        .withRequest(Base64.getEncoder().encodeToString(pem.getBytes()))
        .withSignerName("kubernetes.io/kube-apiserver-client")
        .withUsages("client auth")
        .endSpec()
        .build()).create();
    requests.withName(name).approve(new CertificateSigningRequestConditionBuilder().withType("Approved").withStatus("True").withReason("Test").build());
    CertificateSigningRequest issued = requests.withName(name).waitUntilCondition(
        request -> request != null && request.getStatus() != null && request.getStatus().getCertificate() != null, 20, TimeUnit.SECONDS);
    String chain = new String(Base64.getDecoder().decode(issued.getStatus().getCertificate()));
    if (!chain.startsWith("-----BEGIN CERTIFICATE-----")) throw new AssertionError(chain);
    requests.withName(name).delete();
    done("certificates");
  }

  static void leads(KubernetesClient client) throws Exception {
    CompletableFuture<Void> leading = new CompletableFuture<>();
    var election = client.leaderElector().withConfig(new LeaderElectionConfigBuilder()
        .withName("java")
        .withLeaseDuration(Duration.ofSeconds(15))
        .withRenewDeadline(Duration.ofSeconds(10))
        .withRetryPeriod(Duration.ofSeconds(2))
        .withLock(new LeaseLock(NAMESPACE, "leader", "me"))
        .withReleaseOnCancel(true)
        .withLeaderCallbacks(new LeaderCallbacks(() -> leading.complete(null), () -> {}, leader -> {}))
        .build()).build().start();
    leading.get(20, TimeUnit.SECONDS);
    same("holder", client.leases().inNamespace(NAMESPACE).withName("leader").get().getSpec().getHolderIdentity(), "me");
    election.cancel(true);
    // The client gives a Lease up by a merge patch, which leaves the holder and makes the Lease end after a second.
    client.leases().inNamespace(NAMESPACE).withName("leader").waitUntilCondition(
        lease -> lease.getSpec().getLeaseDurationSeconds() == 1, 20, TimeUnit.SECONDS);
    done("leader election");
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

  static void done(String what) {
    System.out.println("ok: " + what);
  }
}
