import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.ServiceAccountBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * A real API server for a Java test, with fabric8's client. Needs the program signet in the PATH.
 *
 * <p>mvn dependency:copy-dependencies -DoutputDirectory=libs && java -cp "libs/*" SignetTest.java
 */
public class SignetTest {
  /** A server of its own, and a client of its administrator; try-with-resources stops both. */
  record Server(Process process, KubernetesClient client) implements AutoCloseable {
    static Server start() throws Exception {
      Path data = Files.createTempDirectory("signet-test").resolve("data");
      List<String> command = List.of("signet", "serve", "--data-dir", data.toString(), "--secure-port", "0", "--log-level", "error");
      Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()));
      String line;
      do {
        line = output.readLine();
        if (line == null) throw new IllegalStateException("signet did not start: see what it printed");
      } while (!line.startsWith("ready in "));
      Config config = Config.fromKubeconfig(Files.readString(data.resolve("admin.kubeconfig")));
      return new Server(process, new KubernetesClientBuilder().withConfig(config).build());
    }

    @Override
    public void close() throws Exception {
      client.close();
      process.destroy();
      process.waitFor();
    }
  }

  /** The controller: every namespace with the label "robot" gets a ServiceAccount of that name. */
  static ResourceEventHandler<Namespace> robots(KubernetesClient client) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(Namespace namespace) {
        String robot = namespace.getMetadata().getLabels().get("robot");
        if (robot == null) return;
        client.serviceAccounts().inNamespace(namespace.getMetadata().getName())
            .resource(new ServiceAccountBuilder().withNewMetadata().withName(robot).endMetadata().build())
            .create();
      }

      @Override
      public void onUpdate(Namespace before, Namespace namespace) {}

      @Override
      public void onDelete(Namespace namespace, boolean isUnknown) {}
    };
  }

  public static void main(String[] arguments) throws Exception {
    try (Server server = Server.start();
        var informer = server.client().namespaces().inform(robots(server.client()))) {
      server.client().namespaces()
          .resource(new NamespaceBuilder().withNewMetadata().withName("factory").addToLabels("robot", "welder").endMetadata().build())
          .create();
      server.client().serviceAccounts().inNamespace("factory").withName("welder").waitUntilCondition(Objects::nonNull, 20, TimeUnit.SECONDS);
      System.out.println("ok: a namespace that asks for a robot gets one");
    }
  }
}
