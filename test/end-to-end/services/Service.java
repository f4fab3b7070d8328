import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.File;
import java.io.FileInputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;

/** An HTTPS service of the JDK alone. It reads its PKCS #12 store again when the file has changed. Arguments: store, file with its password, port. */
public class Service {
  public static void main(String[] arguments) throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    char[] password = Files.readString(Path.of(arguments[1])).strip().toCharArray();
    context.init(new KeyManager[] {new Store(new File(arguments[0]), password)}, null, null);
    HttpsServer server = HttpsServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[2])), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context));
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", exchange -> {
      byte[] text = "from Java\n".getBytes();
      exchange.sendResponseHeaders(200, text.length);
      exchange.getResponseBody().write(text);
      exchange.close();
    });
    server.start();
    System.out.println("listens on " + server.getAddress().getPort());
  }

  /** The key and chain of the file as it is now. */
  private record Version(long modified, PrivateKey key, X509Certificate[] chain) {}

  private static class Store extends X509ExtendedKeyManager {
    private final File file;
    private final char[] password;
    private Version version = new Version(-1, null, null);

    Store(File file, char[] password) {
      this.file = file;
      this.password = password;
    }

    private synchronized Version current() {
      long modified = file.lastModified();
      if (modified == version.modified()) return version;
      try (FileInputStream input = new FileInputStream(file)) {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(input, password);
        String alias = store.aliases().nextElement();
        java.security.cert.Certificate[] chain = store.getCertificateChain(alias);
        X509Certificate[] certificates = java.util.Arrays.copyOf(chain, chain.length, X509Certificate[].class);
        version = new Version(modified, (PrivateKey) store.getKey(alias, password), certificates);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
      return version;
    }

    // An alias is a version: a handshake keeps its key and its certificate although the file changes meanwhile.
    private final java.util.Map<String, Version> handshakes = java.util.Collections.synchronizedMap(
        new java.util.LinkedHashMap<>() {
          protected boolean removeEldestEntry(java.util.Map.Entry<String, Version> eldest) {
            return size() > 4;
          }
        });

    public String chooseEngineServerAlias(String type, Principal[] issuers, SSLEngine engine) {
      Version now = current();
      if (!now.key().getAlgorithm().equals(type)) return null;
      String alias = String.valueOf(now.modified());
      handshakes.put(alias, now);
      return alias;
    }

    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
      return chooseEngineServerAlias(type, issuers, null);
    }

    public PrivateKey getPrivateKey(String alias) {
      return handshakes.get(alias).key();
    }

    public X509Certificate[] getCertificateChain(String alias) {
      return handshakes.get(alias).chain();
    }

    public String[] getServerAliases(String type, Principal[] issuers) {
      return null;
    }

    public String[] getClientAliases(String type, Principal[] issuers) {
      return null;
    }

    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
      return null;
    }
  }
}
