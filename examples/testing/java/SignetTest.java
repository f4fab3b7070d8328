import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A real API server for a Java test, without any library: java SignetTest.java. Needs the program signet in the PATH. */
public class SignetTest {
  /** A server of its own; try-with-resources stops it. */
  record Server(Process process, String url, Path caFile, Path kubeconfig, String token) implements AutoCloseable {
    static Server start() throws Exception {
      Path folder = Files.createTempDirectory("signet-test");
      Path data = folder.resolve("data");
      String token = "test-administrator";
      Path tokens = folder.resolve("tokens.csv");
      Files.createFile(tokens, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.writeString(tokens, token + ",admin,admin-uid,\"system:masters\"\n");
      List<String> command =
          List.of("signet", "serve", "--data-dir", data.toString(), "--secure-port", "0",
              "--token-auth-file", tokens.toString(), "--log-level", "error");
      Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()));
      String line;
      do {
        line = output.readLine();
        if (line == null) throw new IllegalStateException("signet did not start: see what it printed");
      } while (!line.startsWith("ready in "));
      // For fabric8: Config.fromKubeconfig(Files.readString(server.kubeconfig()))
      Path kubeconfig = data.resolve("admin.kubeconfig");
      Matcher url = Pattern.compile("server: (https://\\S+)").matcher(Files.readString(kubeconfig));
      if (!url.find()) throw new IllegalStateException(kubeconfig + " names no server");
      return new Server(process, url.group(1), data.resolve("ca.crt"), kubeconfig, token);
    }

    /** Trusts the server's CA and nothing else. */
    HttpClient client() throws Exception {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      try (InputStream pem = Files.newInputStream(caFile)) {
        trusted.setCertificateEntry("signet", CertificateFactory.getInstance("X.509").generateCertificate(pem));
      }
      TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return HttpClient.newBuilder().sslContext(context).build();
    }

    @Override
    public void close() throws Exception {
      process.destroy();
      process.waitFor();
    }
  }

  public static void main(String[] arguments) throws Exception {
    try (Server server = Server.start()) {
      String body = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"factory\"}}";
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/namespaces"))
              .header("Authorization", "Bearer " + server.token())
              .header("Content-Type", "application/json")
              .POST(HttpRequest.BodyPublishers.ofString(body))
              .build();
      HttpResponse<String> response = server.client().send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() != 201) throw new AssertionError(response.statusCode() + ": " + response.body());
      System.out.println("ok: a namespace is created");
    }
  }
}
