import java.io.PrintStream;
import java.net.Socket;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Verifies an HTTPS service on 127.0.0.1 by the trust store of the JDK's own settings, and prints its answer. Arguments: the service's name, port. */
public class Client {
  public static void main(String[] arguments) throws Exception {
    SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
    Socket plain = new Socket("127.0.0.1", Integer.parseInt(arguments[1]));
    try (SSLSocket socket = (SSLSocket) factory.createSocket(plain, arguments[0], plain.getPort(), true)) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      PrintStream request = new PrintStream(socket.getOutputStream(), true);
      request.print("GET / HTTP/1.0\r\nHost: " + arguments[0] + "\r\n\r\n");
      System.out.print(new String(socket.getInputStream().readAllBytes()));
    }
  }
}
