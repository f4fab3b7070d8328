import assert from "node:assert/strict";
import { constants } from "node:http2";
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  truncateSync,
} from "node:fs";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { after, before, describe, it } from "node:test";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { exitCodes } from "../../src/machinery/command-line/command-failure.ts";
import type { ExitName } from "../../src/machinery/command-line/command-failure.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { newAuthority } from "../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { HostedSignet } from "./hosted-signet.ts";
import type { HostedOutcome } from "./command-host.ts";
import { UnhelpfulServers } from "./unhelpful-servers.ts";

/** A wrong use: what it is, the words, how it ends, and what the one line on standard error must say. A line each. */
type WrongUse = readonly [what: string, words: readonly string[], exit: ExitName, says: RegExp];

const words = (line: string): string[] => line.split(" ");
const jwt = (claims: object): string =>
  ["{}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
const day = 86_400_000;

describe(
  "a wrong use ends with one line that says what to do next, and the exit code for it",
  { concurrency: 1 },
  () => {
    let server: TestServer;
    let unhelpful: UnhelpfulServers;
    let signet: HostedSignet;
    const folder = mkdtempSync(join(tmpdir(), "signet-wrong-"));
    const file = (name: string): string => join(folder, name);
    const write = (name: string, text: string): string => {
      writeFileSync(file(name), text, { mode: 0o600 });
      return file(name);
    };
    let ca = "";
    let admin = "";

    interface Kubeconfig {
      readonly url?: string;
      readonly ca?: string;
      readonly user?: object;
    }
    /** A kubeconfig of the server's administrator, changed. */
    const kubeconfig = (name: string, { url = server.url, ca: trusted = ca, user }: Kubeconfig): string =>
      write(
        name,
        JSON.stringify({
          "current-context": "c",
          contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
          clusters: [
            {
              name: "c",
              cluster: { server: url, "certificate-authority-data": Buffer.from(trusted).toString("base64") },
            },
          ],
          users: [{ name: "u", user: user ?? { token: server.adminToken } }],
        }),
      );

    before(async () => {
      server = await startTestServer();
      unhelpful = new UnhelpfulServers(server);
      signet = new HostedSignet();
      ca = readFileSync(join(server.dataDirectory, "ca.crt"), "utf8");
      admin = kubeconfig("admin", {});
      mkdirSync(file("folder"));
    });
    after(async () => {
      signet.stop();
      unhelpful.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const check = ({ code, stdout, stderr }: HostedOutcome, [what, , exit, says]: WrongUse): void => {
      assert.equal(code, exitCodes[exit].code, `${what}: ${stderr}`);
      assert.equal(stdout, "", what);
      assert.match(stderr, /^(?:warning: [^\n]+\n)*signet: [^\n]+\n$/, what);
      assert.doesNotMatch(stderr, /^ +at |\.[jt]s:\d+|node:internal|Error:|undefined|\[object/m, what);
      assert.match(stderr, says, what);
    };
    const checkAll = async (uses: readonly WrongUse[]): Promise<void> => {
      for (const use of uses) check(await signet.run(use[1]), use);
    };
    const asAdmin = (line: string, ...more: string[]): string[] => [...words(line), ...more, "--kubeconfig", admin];

    it("in the words of the command line", async () => {
      // oxfmt-ignore
      await checkAll([
        ["an unknown command", words("crs list"), "usage", /unknown command 'crs' \(Did you mean csr\?\); see signet --help/],
        ["kubectl's order of words", words("get csr web"), "usage", /^signet: unknown command 'get' \(did you mean signet csr get\?\); see signet --help$/m],
        ["a verb without its noun", words("approve web"), "usage", /^signet: unknown command 'approve' \(did you mean signet csr approve\?\); see signet --help$/m],
        ["a verb of two nouns", words("revoke web"), "usage", /^signet: unknown command 'revoke' \(did you mean signet token revoke or signet certificates revoke\?\); see signet --help$/m],
        ["an unknown command below one that runs by itself", words("agent renw"), "usage", /^signet: unknown command 'renw' \(did you mean renew\?\); see signet agent --help$/m],
        ["the help of an unknown command below another", words("help csr lst"), "usage", /^signet: unknown command 'lst' \(Did you mean list\?\); see signet csr --help$/m],
        ["the help of an unknown command", words("help crs"), "usage", /^signet: unknown command 'crs' \(Did you mean csr\?\); see signet --help$/m],
        ["an unknown subcommand", words("csr lst"), "usage", /Did you mean list\?\); see signet csr --help/],
        ["the rotation of a CA in one step", words("ca rotate ca --data-dir x"), "usage", /so that clients trust the new one first: begin with signet ca prepare$/m],
        ["an unknown flag", words("csr list --singer x"), "usage", /'--singer' \(Did you mean --signer\?\); see signet csr list --help/],
        ["a value of a flag that takes none", words("csr approve x --yes=true"), "usage", /^signet: option '--yes' takes no value; see signet csr approve --help$/m],
        ["an unknown flag with a value", words("csr approve x --no=true"), "usage", /unknown option '--no=true'; see signet csr approve --help/],
        ["a kind that no token is bound to", asAdmin("token create x --bound-object-kind pod --bound-object-name x"), "usage", /Allowed choices are Pod, Secret, Node; see/],
        ["a flag without its value", words("csr list --signer"), "usage", /argument missing; see signet csr list --help/],
        ["a missing argument", words("csr describe"), "usage", /missing required argument 'name'; see signet csr describe --help/],
        ["too many arguments", words("csr list a b"), "usage", /too many arguments.*; see signet csr list --help/],
        ["a misspelled required flag", words("csr create x --keyfile k"), "usage", /unknown option '--keyfile' \(did you mean --key-file\?\); see signet csr create --help/],
        ["a missing required flag", words("csr create x"), "usage", /'--key-file <file>' not specified; see signet csr create --help/],
        ["an unknown format", words("csr list -o xml"), "usage", /Allowed choices are json, yaml, wide, name; see signet csr list --help/],
        ["a shell without completion", words("completion ksh"), "usage", /^signet: 'ksh' is invalid for argument 'shell'\. Allowed choices are bash, zsh, fish; see signet completion --help$/m],
        ["an argument too many", words("doctor extra"), "usage", /got 1: extra; see signet doctor --help/],
        ["a duration with a wrong unit", words("token create x --duration 3w"), "usage", /--duration: "3w" is not a duration such as 90s, 10m, 24h or 30d/],
        ["a negative duration", words("kubeconfig --user x --duration=-1h"), "usage", /--duration: "-1h" is not a duration/],
        ["a lifetime that no request can ask for", words("csr create x --key-file x.key --duration 24856d"), "usage", /--duration: "24856d" must be a duration such as 24h, from 10m to 24855d/],
        ["a lifetime that no user's kubeconfig can have", words("kubeconfig --user x --duration 24856d"), "usage", /--duration must be .*from 10m to 24855d, for a user$/m],
        ["a duration of ages", words("bootstrap-token create --ttl 999999999d"), "usage", /--ttl: "999999999d" is too long: give a duration of 365000d at most$/m],
        ["an invalid timeout", words("csr list --timeout soon"), "usage", /--timeout: "soon" is not a duration/],
        ["an unknown kind of key", asAdmin("csr create x --key-type dsa --key-file", file("k")), "usage", /is not one of ecdsa-p256/],
        ["an invalid address", asAdmin("csr create x --ip web.example --key-file", file("k")), "usage", /--ip: "web.example" is not an IP address; --dns is for DNS names/],
        ["an e-mail address that is none", asAdmin("csr create x --email nope --key-file", file("k")), "usage", /--email: "nope" is not an e-mail address, such as ann@example\.com/],
        ["a URI that is none", asAdmin("csr create x --key-file", file("k"), "--uri", "not a uri"), "usage", /--uri: "not a uri" is not a URI: invalid character in URL/],
        ["neither user nor account", asAdmin("kubeconfig"), "usage", /name one of --user and --service-account/],
        ["both user and account", asAdmin("kubeconfig --user a --service-account b"), "usage", /name one of --user and --service-account/],
        ["a group without a user", asAdmin("kubeconfig --group g --service-account b"), "usage", /give --user/],
        ["only the uid of a bound object", asAdmin("token create x --bound-object-uid 1"), "usage", /--bound-object-uid: give --bound-object-kind and --bound-object-name too/],
        ["half of a bound object", asAdmin("token create x --bound-object-kind Pod"), "usage", /give --bound-object-kind and --bound-object-name together/],
        ["a role without verbs", asAdmin("role create r --resource pods"), "usage", /--verb: say what may be done/],
        ["a role without resources", asAdmin("role create r --verb get"), "usage", /--resource: say with what/],
        ["a role with a path that no request has", asAdmin("clusterrole create r --verb get --non-resource-url metrics"), "usage", /--non-resource-url: "metrics" matches no path; give one that begins with \//],
        ["a role with a star within a path", asAdmin("clusterrole create r --verb get --non-resource-url /a*b"), "usage", /--non-resource-url: "\/a\*b" matches no path; .* may end with \*/],
        ["a bootstrap token with a group that none may have", asAdmin("bootstrap-token create --group edge"), "usage", /--group: "edge" is not a group such as system:bootstrappers:edge/],
        ["a role for what there is not", asAdmin("role create r --verb get --resource unicorns"), "usage", /no resource "unicorns"; kubectl api-resources lists them/],
        ["a binding without a role", asAdmin("rolebinding create b --user x"), "usage", /name one of --role and --clusterrole/],
        ["a binding without subjects", asAdmin("rolebinding create b --role x"), "usage", /say who gets it: --user, --group or --serviceaccount/],
        ["an account without a namespace", asAdmin("rolebinding create b --role x --serviceaccount robot"), "usage", /"robot" is not NAMESPACE:NAME/],
        ["a question without a verb", asAdmin("auth can-i"), "usage", /as in signet auth can-i create csr/],
        ["a question about two names", asAdmin("auth can-i get pods/a b"), "usage", /name one object/],
        ["a group to act as, without a user", asAdmin("csr list --as-group g"), "usage", /--as-group: give --as too/],
        ["an invalid ID", asAdmin("bootstrap-token delete x"), "usage", /not a bootstrap token: give its ID \(six lowercase letters and digits\) or ID\.SECRET/],
        ["an empty name", asAdmin("csr get", ""), "usage", /an argument is empty; give a value/],
        ["an empty token", asAdmin("csr list --token", ""), "usage", /--token is empty; give a value/],
        ["a token of two lines", asAdmin("csr list --token", "a\nb"), "usage", /--token: no token has spaces, line breaks/],
        ["a name that steers the terminal", asAdmin("csr describe", "\u001b[2J\u202e"), "refused", /\\x1b\[2J\\u202e/],
      ]);
    });

    it("in the names of environment variables, which set nothing then", async () => {
      const misspelled = { SIGNET_SECURE_PROT: "1", SIGNET_NODE_NMAE: "a" };
      // What a cluster sets in its Pods for a Service named signet, and what the agent sets for its hooks.
      const others = { SIGNET_SERVICE_PORT: "1", SIGNET_PORT_443_TCP_ADDR: "a", SIGNET_CHANGE: "a" };
      const environment = { ...misspelled, ...others };
      const server = await signet.run(words("doctor --data-dir none"), environment);
      assert.equal(server.stderr, "warning: SIGNET_SECURE_PROT is no setting (did you mean SIGNET_SECURE_PORT?)\n");
      const agent = await signet.run(words("agent status --data-dir none"), environment);
      assert.match(
        agent.stderr,
        /^warning: SIGNET_NODE_NMAE is no setting \(did you mean SIGNET_NODE_NAME\?\)\nsignet: /,
      );
    });

    it("in a file of settings that an environment variable names", async () => {
      for (const command of ["serve", "doctor", "agent once"]) {
        const { code, stderr } = await signet.run(words(command), { SIGNET_CONFIG: "/none" });
        const message = "signet: --config: cannot read /none: there is no such file; name another";
        assert.deepEqual([code, stderr], [2, `${message} (SIGNET_CONFIG sets --config)\n`], command);
      }
    });

    it("in files that are read and written", async () => {
      const noPem = write("no.pem", "no PEM");
      const request = "-----BEGIN CERTIFICATE REQUEST-----\nMAAw\n-----END CERTIFICATE REQUEST-----\n";
      const damagedRequest = write("damaged.csr", request);
      const twoRequests = write("two.csr", request + request);
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
      const unusualKey = write("unusual.key", privateKey.export({ type: "pkcs8", format: "pem" }));
      // oxfmt-ignore
      await checkAll([
        ["a missing file of CAs", asAdmin("trust create x --from-file", file("none")), "usage", /--from-file: cannot read .+: there is no such file; name another/],
        ["a folder in place of a file", asAdmin("trust create x --from-file", file("folder")), "usage", /folder: it is a folder; name a file/],
        ["a device in place of a file", asAdmin("trust create x --from-file /dev/zero"), "usage", /\/dev\/zero is longer than 16 MiB; name a smaller one/],
        ["CAs that are no PEM", asAdmin("trust create x --from-file", noPem), "usage", /no.pem: .+; name a file with only CA certificates in PEM$/m],
        ["a request file that holds none", asAdmin("csr submit x --from-file", noPem), "usage", /--from-file: .+ holds no PKCS #10 request in PEM; name a file with one/],
        ["a request file that holds two", asAdmin("csr submit x --from-file", twoRequests), "usage", /holds 2 requests; name a file with one/],
        ["a request file that is damaged", asAdmin("csr submit x --from-file", damagedRequest), "usage", /--from-file: .+: asn1: .+; let its program make the request again/],
        ["a key file that holds none", asAdmin("csr create x --key-file", noPem), "usage", /no private key that can be read; name a PEM file with a key without a passphrase/],
        ["a key that signs no requests", asAdmin("csr create x --key-file", unusualKey), "usage", /--key-file: .+ holds a key of a type that signs no requests; name one with an RSA, P-256, P-384, P-521 or Ed25519 key/],
        ["a key file below a file", asAdmin("csr create x --key-file", join(admin, "x")), "usage", /--key-file: cannot read .+x: a part of the path is a file, not a folder; name another/],
        ["a key file that is a folder", asAdmin("csr create x --key-file", file("folder")), "usage", /is not a file of at most 16 MiB; name one/],
        ["a key in a missing folder", asAdmin("csr create x --key-file", file("none/key")), "unwritable", /--key-file: cannot write .+: the folder does not exist/],
        ["a full device for the output", asAdmin("csr get x --output-file /dev/full"), "unwritable", /--output-file: \/dev\/full is a pipe, a device or a socket; name a file/],
        ["a folder for the output", asAdmin("csr get x --output-file", file("folder")), "unwritable", /is a folder; name a file/],
        ["a folder that is not there for the output", asAdmin("csr get x --output-file", file("none/")), "unwritable", /none\/ is the name of a folder; name a file/],
        ["a file as a folder", asAdmin("kubeconfig --user x --output-file", `${noPem}/x`), "unwritable", /no.pem is a file, not a folder; name another/],
        ["a read-only place", asAdmin("kubeconfig --user x --output-file /proc/x"), "unwritable", /--output-file: cannot write \/proc\/x: /],
        ["a file name of ages", asAdmin("csr get x --output-file", file("x".repeat(300))), "unwritable", /the name is too long; name a shorter one/],
        ["- for standard output", asAdmin("csr get x --output-file -"), "usage", /- is not a file name; write .\/- /],
        ["a format for a file of PEM", asAdmin("csr get x -o yaml --output-file x.crt"), "usage", /--output-file <file>' cannot be used with option '-o, --output/],
        ["a format for a file of a token", asAdmin("token create x -o json --output-file x.token"), "usage", /--output-file <file>' cannot be used with option '-o, --output/],
      ]);
    });

    it("in kubeconfigs", async () => {
      const of = (path: string): string[] => ["csr", "list", "--kubeconfig", path];
      const key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
      const pair = {
        "client-certificate-data": Buffer.from(ca).toString("base64"),
        "client-key-data": Buffer.from(key).toString("base64"),
      };
      const huge = write("huge", "");
      truncateSync(huge, 16 * 2 ** 20 + 1);
      const withToken = (name: string, tokenFile: string): string[] => of(kubeconfig(name, { user: { tokenFile } }));
      // oxfmt-ignore
      await checkAll([
        ["a missing one", of(file("none")), "usage", /cannot read kubeconfig .+: there is no such file; name another with --kubeconfig/],
        ["a folder", of(file("folder")), "usage", /is a folder; name a file/],
        ["a file below a file", of(join(admin, "x")), "usage", /x: a part of the path is a file, not a folder; name another\n$/],
        ["a device", of("/dev/zero"), "usage", /is a device, or larger than 16 MiB; name a kubeconfig/],
        ["a huge one", of(huge), "usage", /is a device, or larger than 16 MiB; name a kubeconfig/],
        ["a token in a huge file", withToken("hugetoken", huge), "usage", /huge, which is not a file of at most 16 MiB; name another one/],
        ["a token in a device", withToken("devicetoken", "/dev/zero"), "usage", /\/dev\/zero, which is not a file of at most 16 MiB; name another one/],
        ["no YAML", of(write("bad", "a: [")), "usage", /is not YAML \(line 1\); correct it, or name another/],
        ["bytes", of(write("bytes", "\u0000\u0001\u0002")), "usage", /name another/],
        ["a list", of(write("list", "- a")), "usage", /holds no clusters, users and contexts; name another file/],
        ["an empty one", of(write("empty", "")), "usage", /kubeconfig .+ has no contexts; name another file$/m],
        ["one that names no context", of(write("no-current", "contexts: [{name: a, context: {}}]")), "usage", /has no current-context; choose one with --context/],
        ["an unknown context", [...of(admin), "--context", "x"], "usage", /has no context "x"; it has c$/m],
        ["a missing CA file", of(write("ca", JSON.stringify({ ...JSON.parse(readFileSync(admin, "utf8")), clusters: [{ name: "c", cluster: { server: server.url, "certificate-authority": "none.crt" } }], }))), "usage", /none\.crt, which cannot be read: there is no such file/],
        ["http in place of https", of(kubeconfig("http", { url: server.url.replace("https", "http") })), "usage", /not a URL such as https:\/\/signet/],
        ["a login that only kubectl has", of(kubeconfig("exec", { user: { exec: { command: "aws" } } })), "usage", /logs in by exec, which signet cannot do; give --token/],
        ["a certificate without a key", of(kubeconfig("nokey", { user: { "client-certificate-data": pair["client-certificate-data"] } })), "usage", /has no client-key; certificate and key go together/],
        ["a broken key", of(kubeconfig("brokenkey", { user: pair })), "usage", /the user's client certificate and key cannot be used; write those of one pair: /],
        ["no credentials", of(kubeconfig("nobody", { user: {} })), "unauthenticated", /\(403\): the kubeconfig has no credentials that signet can use; name another --context, or give --token/],
      ]);
    });

    it("with servers that cannot be reached or trusted, say nothing, or talk nonsense", async () => {
      const quick = (path: string): string[] => ["csr", "list", "--timeout", "100ms", "--kubeconfig", path];
      const of = (path: string): string[] => ["auth", "whoami", "--kubeconfig", path];
      const at = async (name: string, url: Promise<string>): Promise<string> => kubeconfig(name, { url: await url });
      const half = '{"groups":[';
      const past = await unhelpful.atTime(Date.now() - 800 * day);
      const future = await unhelpful.atTime(Date.now() + 30 * day);
      const withOtherTypes = ({ method }: IncomingMessage, response: ServerResponse): void => {
        const groups = [{ name: "authentication.platform.io" }];
        const review = { kind: "SelfSubjectReview", metadata: {}, status: { userInfo: { username: null, groups: 5 } } };
        response.end(JSON.stringify(method === "GET" ? { groups } : review));
      };
      const answer = (body: string, status = 200) =>
        unhelpful.answering((_, response) => void response.writeHead(status).end(body));
      const noSuchRoute = JSON.stringify({
        ...{ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "NotFound", code: 404 },
        ...{ message: "the server could not find the requested resource", details: {} },
      });
      // oxfmt-ignore
      await checkAll([
        ["nothing listens", of(await at("gone", unhelpful.gone())), "unreachable", /nothing listens there; start it with signet serve/],
        ["no such host", of(kubeconfig("nohost", { url: "https://nowhere.invalid:1" })), "unreachable", /there is no such host; check the server's URL/],
        ["it accepts and says nothing", quick(await at("silent", unhelpful.silent())), "unreachable", /did not answer within 0\.1s.*wait longer with --timeout/],
        ["it says nothing after TLS", quick(await at("mute", unhelpful.answering(() => {}))), "unreachable", /did not answer within 0\.1s/],
        ["it sends half an answer and waits", quick(await at("half", unhelpful.answering((_, response) => void response.write(half)))), "unreachable", /did not answer within 0\.1s/],
        ["it sends half an answer and goes", of(await at("cut", unhelpful.answering((_, response) => void response.write(half, () => response.destroy())))), "unreachable", /closed the connection before it had answered; try again/],
        ["it ends in the middle", of(await at("short", answer(half))), "unreachable", /not JSON, or only a part of it came; check that the kubeconfig/],
        ["it closes at once", of(await at("close", unhelpful.answering((request) => void request.socket.destroy()))), "unreachable", /closed the connection/],
        ["it takes no requests", of(await at("refusing", unhelpful.resetting(constants.NGHTTP2_REFUSED_STREAM))), "unreachable", /it takes no requests now, and may be stopping; try again$/m],
        ["it resets requests", of(await at("resetting", unhelpful.resetting(constants.NGHTTP2_PROTOCOL_ERROR))), "unreachable", /closed the connection before it had answered; try again/],
        ["it speaks no TLS", of(await at("plain", unhelpful.plain())), "unreachable", /does not speak TLS; check the server's URL/],
        ["it is a web site", of(await at("page", answer("<html>hello</html>"))), "unreachable", /not JSON/],
        ["it is another API server's, which has no such API", of(await at("lacking", answer("404 page not found\n", 404))), "unreachable", /the server does not have this API \(404\): 404 page not found; it may not be Signet: check its URL/],
        ["it is a kube-apiserver, which has no such API", of(await at("routes", answer(noSuchRoute, 404))), "unreachable", /the server does not have this API \(404\): the server could not find the requested resource; it may not be Signet/],
        ["its own API is missing, which the controllers need", ["controllers", "--kubeconfig", await at("upstream", answer('{"groups":[{"name":"authentication.k8s.io"}]}'))], "unreachable", /does not serve signet\.platform\.io, so it is not a Signet server; check the kubeconfig/],
        ["it is a proxy's error page", of(await at("proxy", answer("<html>bad gateway</html>", 502))), "unreachable", /the answer \(502\) is not one of an API server/],
        ["it answers a list", of(await at("array", answer("[]"))), "unreachable", /JSON, but not an object/],
        ["it has other types", of(await at("types", unhelpful.answering(withOtherTypes))), "unreachable", /an answer is not what the API says, .*; check that the kubeconfig names a Signet server, and try again/],
        ["it has other APIs", of(await at("other", answer('{"groups":[{"name":"apps"}]}'))), "unreachable", /offers no authentication API, so it is not a Signet server; check the kubeconfig/],
        ["its CA is another", of(kubeconfig("ca2", { ca: encodePem("CERTIFICATE", newAuthority("x").certificate.der) })), "unreachable", /from a CA that the kubeconfig does not hold; give it the CA of this very server/],
        ["its name is another", of(kubeconfig("name", { url: server.url.replace("127.0.0.1", "127.0.0.2") })), "unreachable", /certificate is for other names.*--tls-san|nothing listens/],
        ["its certificate has ended", of(kubeconfig("past", past)), "unreachable", /has expired, or this machine's clock is wrong \(it says .*set the clock/],
        ["its certificate is of the future", of(kubeconfig("future", future)), "unreachable", /not valid yet, or this machine's clock is wrong \(it says .*set the clock, or try again in a minute: a server whose clock was ahead makes a new certificate/],
      ]);
    });

    it("with credentials that are not accepted", async () => {
      const of = (path: string, ...more: string[]): string[] => ["auth", "whoami", "--kubeconfig", path, ...more];
      const skewed = unhelpful.answering(
        (_, response) => void response.writeHead(401, { date: new Date(Date.now() + day).toUTCString() }).end("{}"),
      );
      const late = kubeconfig("late", { url: await skewed });
      const expired = jwt({ exp: seconds(Date.now() - day) });
      const early = jwt({ nbf: seconds(Date.now() + day) });
      // oxfmt-ignore
      await checkAll([
        ["an unknown token", of(admin, "--token", "nobody"), "unauthenticated", /does not accept the token, .*get a new one with signet token create/],
        ["an expired token", of(admin, "--token", expired), "unauthenticated", /the token expired at \d{4}-\S+Z; get a new one with signet token create/],
        ["a token of tomorrow", of(admin, "--token", early), "unauthenticated", /the token is not valid before \S+Z; check the clock/],
        ["a clock that is wrong", of(late, "--token", "x"), "unauthenticated", /this machine's clock says \S+Z and the server's \S+Z; set the clock/],
        ["a token of somebody else's kubeconfig", of(kubeconfig("old", { user: { token: expired } })), "unauthenticated", /the token expired/],
      ]);
    });

    it("with what the server refuses or does not have", async () => {
      for (const name of ["there", "doomed", "meant"]) {
        await signet.run(asAdmin(`csr create ${name} --key-file`, file(`${name}.key`)));
      }
      await signet.run(asAdmin("csr deny doomed"));
      await signet.run(asAdmin("csr approve meant --yes"));
      // oxfmt-ignore
      await checkAll([
        ["a name with a slash", asAdmin("csr describe a/b"), "refused", /invalid resource name "a\/b": may not contain '\/'$/m],
        ["a namespace that would be another path", asAdmin("rolebinding list --namespace .."), "refused", /invalid namespace "\.\.": may not be '\.\.'$/m],
        ["an unknown request", asAdmin("csr describe nothing"), "refused", /404 NotFound.*check the name, and the namespace if it has one$/m],
        ["a name that exists", asAdmin("csr create there --key-file", file("other.key")), "refused", /409 AlreadyExists.*choose another name/],
        ["a request that was sent before", asAdmin("csr create there --key-file", file("there.key")), "refused", /for the key of \S+there\.key; wait for its certificate: signet csr get there --wait$/m],
        ["a role for a kind that is not there", asAdmin("role create r --verb get --resource cofigmaps"), "usage", /has no resource "cofigmaps" \(did you mean configmaps\?\); /],
        ["a name that cannot be", asAdmin("role create .. --verb get --resource pods"), "refused", /422 Invalid/],
        ["a request without a certificate", asAdmin("csr get there"), "refused", /it is Pending; approve it with signet csr approve there, or wait with --wait$/m],
        ["a request that was denied", asAdmin("csr get doomed"), "refused", /it is Denied; look with signet csr describe doomed$/m],
        ["waiting for a silent server", asAdmin("csr get there --wait --timeout 1ms"), "unreachable", /did not answer within 0\.001s/],
        ["approving what was denied", asAdmin("csr approve doomed"), "refused", /request doomed was denied already, which cannot be undone; ask for another one \(signet csr create\)$/m],
        ["denying what was approved", asAdmin("csr deny meant"), "refused", /request meant was approved already, which cannot be undone; .*signet certificates revoke/],
        ["the tokens of an account that does not exist", asAdmin("token revoke --account nobody"), "refused", /"nobody" not found; check the name, and the namespace if it has one$/m],
        ["a certificate that is not recorded", asAdmin("certificates describe nothing"), "refused", /signet certificates list shows all/],
        ["a bootstrap token that is gone", asAdmin("bootstrap-token delete abcdef"), "refused", /signet bootstrap-token list shows all/],
        ["a token for an account that does not exist", asAdmin("token create nobody"), "refused", /"nobody" not found; check the name, and the namespace if it has one$/m],
        ["a user with a line break", asAdmin("csr list --as", "anna\n"), "usage", /--as, --as-group: no name has control characters$/m],
        ["what another may not do", asAdmin("csr list --as anna"), "refused", /User "anna" cannot list.*signet auth can-i --list/],
        ["what no permission allows", asAdmin("csr create masters --organization system:masters --key-file", file("there.key")), "refused", /system:masters group is not allowed; this is not about permissions: ask for something that the rule allows$/m],
        ["a role that gives more than anna has", asAdmin("clusterrole create root --verb * --resource *.* --as anna"), "refused", /403 Forbidden.*; signet auth can-i --list shows what you may do$/m],
      ]);
      // Each answer must come within --timeout too, and a busy machine may need longer than the first.
      const wait = (limit: string): Promise<HostedOutcome> =>
        signet.run(asAdmin(`csr create doomed-${limit} --wait --timeout ${limit} --key-file`, file("there.key")));
      let outcome = await wait("1s");
      if (outcome.code === exitCodes.unreachable.code) outcome = await wait("20s");
      check(outcome, [
        "waiting for a request that is not approved",
        [],
        "pending",
        /doomed-(1|20)s is Pending after \1s: approve it with signet csr approve doomed-\1s, or wait longer with --timeout/,
      ]);
    });

    it("with servers to be, and where they listen and keep their data", async () => {
      const taken = createServer().listen(0, "127.0.0.1");
      await once(taken, "listening");
      const { port } = taken.address() as AddressInfo;
      const serve = (...more: string[]): string[] => [
        "serve",
        "--data-dir",
        file("data"),
        "--secure-port",
        "0",
        ...more,
      ];
      const unwritable = write("no-folder", "");
      const noPem = write("tls", "no PEM");
      const noYaml = write("no.yaml", "a: [");
      const damaged = file("damaged");
      cpSync(server.dataDirectory, damaged, { recursive: true });
      writeFileSync(join(damaged, "ca.key"), "no key");
      mkdirSync(file("overwritten/store"), { recursive: true, mode: 0o700 });
      writeFileSync(file("overwritten/store/store.mdb"), "something else");
      const circularLink = file("circular");
      symlinkSync(circularLink, circularLink);
      // oxfmt-ignore
      const uses: WrongUse[] = [
        ["an address in use", ["serve", "--data-dir", file("unmade"), "--secure-port", String(port)], "refused", /another program uses 127\.0\.0\.1:\d+; stop it, or choose another port/],
        ["an address for revocation lists that is in use", ["serve", "--data-dir", file("unmade"), "--secure-port", "0", "--revocation-url", "http://pki.example.com", "--revocation-http-address", `127.0.0.1:${port}`], "refused", /another program uses 127\.0\.0\.1:\d+; stop it, or choose another port \(signet serve: --secure-port or --revocation-http-address,/],
        ["an address for metrics that is in use", asAdmin("controllers --metrics-bind-address", `127.0.0.1:${port}`), "refused", /another program uses 127\.0\.0\.1:\d+; stop it, or choose another port .*signet controllers: --metrics-bind-address, signet agent: --port\)$/m],
        ["an address of another machine", serve("--bind-address", "192.0.2.1"), "refused", /this machine has no address 192\.0\.2\.1/],
        ["a backup without a name", ["backup", "--data-dir", server.dataDirectory, ""], "usage", /an argument is empty; give a value/],
        ["the keys of a folder behind links that form a loop", ["keys", "list", "--data-dir", circularLink], "usage", /--data-dir: cannot use .+circular: its symbolic links form a loop; name another$/m],
        ["a look at a folder behind links that form a loop", ["doctor", "--data-dir", circularLink], "usage", /--data-dir: cannot use .+circular: its symbolic links form a loop; name another$/m],
        ["the keys of a folder that is not there", ["encryption", "rotate", "--data-dir", file("unmade")], "usage", /--data-dir: .+unmade does not exist; name the data directory of a server$/m],
        ["a name that is no address", ["serve", "--data-dir", file("unmade"), "--bind-address", "nowhere.invalid"], "refused", /this machine has no address nowhere\.invalid; choose one that it has \(signet serve: --bind-address/],
        ["a path to listen on", serve("--bind-address", "/nope"), "usage", /--bind-address: "\/nope" is not a DNS name or an IP address/],
        ["a look at the settings of a server that listens on a URL", ["doctor", "--data-dir", server.dataDirectory, "--bind-address", "https://127.0.0.1"], "usage", /--bind-address: "https:\/\/127\.0\.0\.1" is not a DNS name or an IP address; give it without a scheme/],
        ["an empty data directory", ["serve", "--data-dir", ""], "usage", /--data-dir is empty; give a value \(is a shell variable not set\?\)$/m],
        ["an empty address to listen on", serve("--bind-address", ""), "usage", /--bind-address is empty; give a value/],
        ["etcd's members in a variable that is not set", serve("--etcd-servers", ""), "usage", /--etcd-servers is empty; give a value/],
        ["an address to listen on that is empty in the file", serve("--config", write("conf0", 'bind-address: ""')), "usage", /--config: .+conf0: bind-address is empty; give a value, or leave it out/],
        ["an agent's empty address to listen on", ["agent", "--server", "https://a.example", "--listen-address", ""], "usage", /--listen-address is empty; give a value/],
        ["an agent's empty data directory", ["agent", "--server", "https://a.example", "--data-dir", ""], "usage", /--data-dir is empty; give a value/],
        ["an empty address of an agent that runs once", ["agent", "once", "--server", "https://a.example", "--listen-address", ""], "usage", /--listen-address is empty; give a value/],
        ["an empty address of an agent's machine", ["agent", "--server", "https://a.example", "--node-ip", ""], "usage", /--node-ip is empty; give a value/],
        ["a backup in a missing folder", ["backup", "--data-dir", server.dataDirectory, file("none/b")], "unwritable", /^signet: FILE: cannot write/],
        ["a backup that is not there", ["restore", "--data-dir", file("unmade"), file("none")], "usage", /none: there is no such file; name another$/m],
        ["a dry run of a backup that is not there", ["restore", "--dry-run", file("none")], "usage", /none: there is no such file; name another$/m],
        ["a backup that is none", ["restore", "--data-dir", file("unmade"), noPem], "usage", /tls cannot be restored: it is not a backup, or damaged; name a whole file of signet backup$/m],
        ["a port in the server's name", ["serve", "--data-dir", file("unmade"), "--advertise-address", "signet.example.com:6443"], "usage", /--advertise-address: "signet\.example\.com:6443" is not a DNS name or an IP address; give it without a scheme, brackets or a port$/m],
        ["a wildcard as the server's name", ["serve", "--data-dir", file("unmade"), "--advertise-address", "*.example.com"], "usage", /--advertise-address: "\*\.example\.com" is not a DNS name/],
        ["a URL for the server's certificate", ["serve", "--data-dir", file("unmade"), "--tls-san", "*.example.com,::1,https://signet.example.com"], "usage", /--tls-san: "https:\/\/signet\.example\.com" is not a DNS name or an IP address/],
        ["an address of one network interface", serve("--bind-address", "fe80::1%eth0"), "usage", /--bind-address: "fe80::1%eth0" names a network interface, which no certificate can; give an address without one/],
        ["an address of one network interface for the certificate", serve("--tls-san", "fe80::1%eth0"), "usage", /--tls-san: "fe80::1%eth0" names a network interface/],
        ["certificates that end at once", serve("--cluster-signing-duration", "9m"), "usage", /--cluster-signing-duration must be at least 10m$/m],
        ["revocation lists that end at once", serve("--crl-lifetime", "59m"), "usage", /--crl-lifetime must be between 1h and 720h$/m],
        ["revocation lists that hardly end", serve("--crl-lifetime", "721h"), "usage", /--crl-lifetime must be between 1h and 720h$/m],
        ["parts of no revocation list", serve("--crl-sharding"), "usage", /--crl-sharding needs --revocation-url/],
        ["revocation lists that no client fetches", serve("--revocation-url", "ftp://a.example"), "usage", /--revocation-url .*http/],
        ["nodes that are lost at once", serve("--node-monitor-grace-period", "0"), "usage", /--node-monitor-grace-period must be at least 1s, and longer than machines take to renew their Leases$/m],
        ["a file of encryption keys that holds none", serve("--encryption-key-file", noPem), "usage", /--encryption-key-file: .+tls, line 1: must be the base64 of 32 bytes: name the file with the keys, or restore it from a backup$/m],
        ["a file of encryption keys that is something long", serve("--encryption-key-file", write("long", "no key\n".repeat(65))), "usage", /--encryption-key-file: .+long, line 1: must be the base64 of 32 bytes: name the file with the keys, or restore it from a backup$/m],
        ["etcd's CA without etcd", serve("--etcd-cafile", noPem), "usage", /--etcd-cafile: give --etcd-servers too; without it, the store is in the data directory$/m],
        ["an invalid port", serve("--secure-port", "70000"), "usage", /not a whole number from 0 to 65535/],
        ["a number of workers in the file that is none", serve("--config", write("some", "workers: some")), "usage", /--workers: "some" is neither auto nor a whole number from 1 to 256 \(--config: .+some sets --workers\)$/m],
        ["a file that is not there, of a setting in the file", serve("--config", write("named", "client-ca-file: /none")), "usage", /--client-ca-file: cannot read \/none: there is no such file; name another \(--config: .+named sets --client-ca-file\)$/m],
        ["an unknown setting in the file", serve("--config", write("conf", "secure-prot: 1")), "usage", /--config: .+conf: unknown setting "secure-prot" \(did you mean secure-port\?\); --help shows those that there are$/m],
        ["a file of settings that is no YAML", serve("--config", write("conf2", "a: [")), "usage", /is not YAML: /],
        ["a data directory below a file", ["serve", "--data-dir", join(unwritable, "data")], "usage", /a part of the path is a file, not a folder; name another/],
        ["a file for a signer of tokens", serve("--service-account-signing-endpoint", noPem), "usage", /--service-account-signing-endpoint: .+tls is no socket: name the one where the signer listens$/m],
        ["a signer of tokens whose path is no socket's", serve("--service-account-signing-endpoint", `/${"x".repeat(120)}`), "usage", /--service-account-signing-endpoint: the path is longer than 10[37] bytes, too long for a socket: shorten it$/m],
        ["a signer of tokens that is not there", serve("--service-account-signing-endpoint", file("none.sock")), "usage", /--service-account-signing-endpoint: no signer answers at .+none\.sock: .*; start it, or name the socket where it listens/],
        ["a data directory of another server", ["serve", "--data-dir", server.dataDirectory], "usage", /is in use by the process \d+/],
        ["a policy that is not there", serve("--approval-policy", file("none")), "usage", /--approval-policy: cannot read .+: there is no such file; name another/],
        ["an invalid certificate for TLS", serve("--tls-cert-file", noPem, "--tls-private-key-file", noPem), "usage", /--tls-cert-file: .+tls holds no certificate; name a PEM file with the server's certificate and its chain behind it$/m],
        ["an audit policy that is no YAML", serve("--audit-log-path", file("log"), "--audit-policy-file", noYaml), "usage", /--audit-policy-file: .+: it is not YAML: .* at line 1, column 5$/m],
        ["settings in two documents", serve("--config", write("two", "log-level: info\n---\nlog-level: debug\n")), "usage", /--config: .+two: it holds several documents, with --- between them \(line 2\); leave one$/m],
        ["signers that are no YAML", serve("--signer-config", noYaml), "usage", /--signer-config: .+: it is not YAML: .* at line 1, column 5$/m],
        ["rules that are no YAML", serve("--approval-policy", noYaml), "usage", /--approval-policy: .+: it is not YAML: .* at line 1, column 5$/m],
        ["static tokens that are none", serve("--token-auth-file", noPem), "usage", /--token-auth-file: .+tls: token file line 1: token, user and uid are required; write them with commas between$/m],
        ["authorizers that are no YAML", serve("--authorization-config", write("no2.yaml", "kind: x\na: [")), "usage", /--authorization-config: .+: .*yaml: line 2: /],
        ["authorizers that are a text", serve("--authorization-config", noPem), "usage", /--authorization-config: .+tls: it holds no settings; begin with apiVersion: .+\/v1 and kind: AuthorizationConfiguration$/m],
        ["issuers in an empty file", serve("--authentication-config", write("empty", "")), "usage", /--authentication-config: .+empty: it holds no settings; begin with apiVersion: .+\/v1 and kind: AuthenticationConfiguration$/m],
        ["an audit log in a missing folder", serve("--audit-log-path", file("none/audit.log")), "usage", /--audit-log-path: cannot write .+: the folder does not exist/],
        ["a CA whose key is damaged", ["serve", "--secure-port", "0", "--data-dir", damaged], "usage", /ca\.crt, .+ca\.key: .*; restore both from a backup/],
        ["a store that is damaged", ["serve", "--secure-port", "0", "--data-dir", file("overwritten")], "usage", /store\.mdb is damaged, or is not a Signet store; restore a backup/],
        ["an audit webhook whose kubeconfig is not there", serve("--audit-webhook-config-file", file("none")), "usage", /--audit-webhook-config-file: cannot read kubeconfig .+: there is no such file; name another$/m],
        ["a webhook for tokens whose kubeconfig has no context", serve("--authentication-token-webhook-config-file", write("no-context", "{}")), "usage", /--authentication-token-webhook-config-file: kubeconfig .+ has no contexts; name another file$/m],
        ["a webhook authorizer whose kubeconfig is not there", serve("--authorization-mode", "RBAC,Webhook", "--authorization-webhook-config-file", file("none")), "usage", /--authorization-webhook-config-file: .*there is no such file; name another$/m],
        ["an agent whose kubeconfig has no context", ["agent", "--data-dir", file("agent"), "--kubeconfig", file("no-context")], "usage", /--kubeconfig: kubeconfig .+ has no contexts; name another file$/m],
        ["an agent whose kubeconfig acts as another user", ["agent", "--data-dir", file("agent"), "--kubeconfig", kubeconfig("acting", { user: { token: "t", as: "ann" } })], "usage", /--kubeconfig: kubeconfig .+: its user acts as another one, which no agent can; remove "as"$/m],
        ["keys of no server", ["keys", "list", "--data-dir", file("none")], "usage", /none does not exist; name the data directory of a server$/m],
        ["encryption of no server", ["encryption", "status", "--data-dir", file("none")], "usage", /none does not exist; name the data directory of a server$/m],
        ["controllers without a kubeconfig file", ["controllers", "--kubeconfig", file("none")], "usage", /there is no such file; name another/],
        ["an agent without a server", ["agent", "--data-dir", file("agent")], "usage", /name a server: --server, or --kubeconfig/],
      ];
      try {
        for (const use of uses) {
          check(await signet.run(use[1]), use);
          assert.ok(!existsSync(file("unmade")), use[0]);
        }
      } finally {
        taken.close();
      }
    });

    it("with standard output that is full", async () => {
      const program = `"${process.execPath}" "${signetProgram}"`;
      const list = `${program} clusterrole list -o json --kubeconfig "${admin}"`;
      const { stderr } = await promisify(execFile)("sh", ["-c", `${list} >/dev/full; echo $? >&2`]);
      assert.equal(
        stderr,
        "signet: cannot write to standard output: no space is left on the disk, or none for more files (df -i); make room\n5\n",
      );
    });
  },
);
