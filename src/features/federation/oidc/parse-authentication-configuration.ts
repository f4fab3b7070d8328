import { duplicate, invalidValue, notSupported, required } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { dnsSubdomainFaults } from "../../../machinery/api/validation/name-validation.ts";
import { isWithinDomain } from "../../../machinery/api/addresses/is-within-domain.ts";
import { withoutUrlPasswords } from "../../../machinery/api/addresses/without-url-passwords.ts";
import {
  parseConfigurationFile,
  refuseFieldErrors,
} from "../../../machinery/command-line/settings/parse-configuration-file.ts";
import { compileDecoder } from "../../../machinery/schema/compile-decoder.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { authenticationConfigurationSchema } from "./authentication-configuration.ts";
import type { AuthenticationConfiguration, JwtAuthenticator, PrefixedClaim } from "./authentication-configuration.ts";
import { ExpressionError } from "../../../machinery/expressions/metered-expression.ts";
import { compileClaimExpression } from "./claim-expression.ts";
import type { ClaimExpression, ExpressionResult, ExpressionVariable } from "./claim-expression.ts";
import type { ClaimMapping, ExtraMapping, ValidationRule } from "./map-claims.ts";
import type { Issuer } from "./issuer-keys.ts";

/** One issuer of the configuration, with its compiled rules. */
export interface TrustedIssuer {
  readonly issuer: Issuer;
  readonly mapping: ClaimMapping;
}

/** Which requests may be anonymous. Without paths: all. */
export interface AnonymousConfiguration {
  readonly isEnabled: boolean;
  readonly paths: readonly string[];
}

export interface ParsedConfiguration {
  readonly trusted: readonly TrustedIssuer[];
  /** Undefined: `--anonymous-auth` decides. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

interface ConfigurationContext {
  readonly names: Names;
  /** The server's own issuers, whose tokens have another verifier. */
  readonly ownIssuers: readonly string[];
}

const maximumIssuers = 64;
const decode = compileDecoder(authenticationConfigurationSchema);

/**
 * Parses the file of `--authentication-config` (YAML or JSON), with upstream's rules and words
 * (`ValidateAuthenticationConfiguration`). Strict: unknown and repeated fields are faults. Throws an Error that lists the
 * faults, each with its path.
 */
export function parseAuthenticationConfiguration(text: string, context: ConfigurationContext): ParsedConfiguration {
  const configuration = parseConfigurationFile(text, { kind: "AuthenticationConfiguration", decode });
  return compileConfiguration(configuration, context);
}

/** Compiles a configuration, also one that was made from flags, by the same rules. Throws an Error that lists the faults. */
export function compileConfiguration(
  configuration: AuthenticationConfiguration,
  context: ConfigurationContext,
): ParsedConfiguration {
  let parsed: ParsedConfiguration = { trusted: [], anonymous: undefined };
  refuseFieldErrors(() => {
    const compiler = new ConfigurationCompiler(context);
    parsed = compiler.compile(configuration);
    return compiler.faults;
  });
  return parsed;
}

class ConfigurationCompiler {
  readonly faults: FieldError[] = [];
  readonly #context: ConfigurationContext;

  constructor(context: ConfigurationContext) {
    this.#context = context;
  }

  compile({ jwt = [], anonymous }: AuthenticationConfiguration): ParsedConfiguration {
    if (jwt.length > maximumIssuers) {
      this.#invalid("jwt", { value: jwt.length, detail: `must have at most ${maximumIssuers} items` });
      return { trusted: [], anonymous: undefined };
    }
    const trusted = jwt.map((one, index) => this.#trusted(one, `jwt[${index}]`));
    this.#distinct(jwt.map(({ issuer }, index) => [`jwt[${index}].issuer.url`, issuer.url]));
    this.#distinct(jwt.map(({ issuer }, index) => [`jwt[${index}].issuer.discoveryURL`, issuer.discoveryURL]));
    const paths = (anonymous?.conditions ?? []).map(({ path = "" }) => path);
    if (anonymous !== undefined && anonymous.enabled !== true && paths.length > 0) {
      const detail = "enabled should be set to true when conditions are defined";
      this.#invalid("anonymous.conditions", { value: paths, detail });
    }
    return { trusted, anonymous: anonymous && { isEnabled: anonymous.enabled === true, paths } };
  }

  #trusted(authenticator: JwtAuthenticator, path: string): TrustedIssuer {
    const issuer = this.#issuer(authenticator.issuer, `${path}.issuer`);
    const ofClaims = this.#claimRules(authenticator, `${path}.claimValidationRules`);
    const { claimMappings } = authenticator;
    const mappings = `${path}.claimMappings`;
    const username = this.#prefixed(claimMappings.username, { path: `${mappings}.username`, result: "text" });
    if (isUnset(claimMappings.username)) {
      this.#required(`${mappings}.username`, "claim or expression is required");
    }
    const groups = this.#prefixed(claimMappings.groups, { path: `${mappings}.groups`, result: "texts" });
    const uid = this.#claimOrExpression(claimMappings.uid, { path: `${mappings}.uid`, result: "text" });
    const extra = this.#extra(claimMappings.extra ?? [], `${mappings}.extra`);
    const readers = [username, ...extra, ...ofClaims.claimRules];
    if (
      username?.expression?.readsClaim("email") === true &&
      !readers.some((one) => one?.expression?.readsClaim("email_verified") === true)
    ) {
      this.#invalid(`${mappings}.username.expression`, {
        value: username.expression.source,
        detail:
          "claims.email_verified must be used in claimMappings.username.expression or " +
          "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in " +
          "claimMappings.username.expression",
      });
    }
    return {
      issuer,
      mapping: {
        username: username ?? { claim: "" },
        groups,
        uid,
        extra,
        ...ofClaims,
        userRules: this.#userRules(authenticator, `${path}.userValidationRules`),
      },
    };
  }

  #issuer(given: JwtAuthenticator["issuer"], path: string): Issuer {
    const { url = "", discoveryURL, certificateAuthority, audiences = [], audienceMatchPolicy = "" } = given;
    if (url === "") this.#required(`${path}.url`, "");
    else this.#url(url, `${path}.url`);
    if (this.#context.ownIssuers.includes(url)) {
      const own = this.#context.ownIssuers.join(" ");
      this.#invalid(`${path}.url`, { value: url, detail: `URL must not overlap with disallowed issuers: [${own}]` });
    }
    if (discoveryURL !== undefined) {
      if (url.replace(/\/+$/, "") === discoveryURL.replace(/\/+$/, "")) {
        const detail = "discoveryURL must be different from URL";
        this.#invalid(`${path}.discoveryURL`, { value: discoveryURL, detail });
      }
      this.#url(discoveryURL, `${path}.discoveryURL`);
    }
    if (audiences.length === 0) this.#required(`${path}.audiences`, `at least one ${path}.audiences is required`);
    for (const [index, audience] of audiences.entries()) {
      if (audience === "") this.#required(`${path}.audiences[${index}]`, "");
    }
    this.#distinct(audiences.map((audience, index) => [`${path}.audiences[${index}]`, audience]));
    if (audienceMatchPolicy !== "MatchAny" && (audiences.length > 1 || audienceMatchPolicy !== "")) {
      const detail =
        audiences.length > 1
          ? "audienceMatchPolicy must be MatchAny for multiple audiences"
          : "audienceMatchPolicy must be empty or MatchAny for single audience";
      this.#invalid(`${path}.audienceMatchPolicy`, { value: audienceMatchPolicy, detail });
    }
    if (certificateAuthority !== undefined && !isCertificates(certificateAuthority)) {
      const detail = "data does not contain any valid RSA or ECDSA certificates";
      this.#invalid(`${path}.certificateAuthority`, { value: "<omitted>", detail });
    }
    if (given.egressSelectorType !== undefined) {
      this.faults.push(notSupported(`${path}.egressSelectorType`, { value: given.egressSelectorType, supported: [] }));
    }
    return { url, audiences, discoveryUrl: discoveryURL, certificateAuthority, algorithms: undefined };
  }

  #url(text: string, path: string): void {
    // The URL parser removes blanks around a URL, and line ends. An issuer with these characters would match no token.
    const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
    const refuse = (detail: string): void => this.#invalid(path, { value: withoutUrlPasswords(text), detail });
    if (url === null) return refuse("URL cannot be parsed");
    if (url.protocol !== "https:") refuse("URL scheme must be https");
    if (url.username !== "" || url.password !== "") refuse("URL must not contain a username or password");
    if (url.search !== "") refuse("URL must not contain a query");
    if (url.hash !== "") refuse("URL must not contain a fragment");
  }

  #claimRules(
    { claimValidationRules = [] }: JwtAuthenticator,
    path: string,
  ): Pick<ClaimMapping, "requiredClaims" | "claimRules"> {
    const requiredClaims = new Map<string, string>();
    const rules: ValidationRule[] = [];
    for (const [index, rule] of claimValidationRules.entries()) {
      const { claim = "", expression = "", requiredValue = "", message = "" } = rule;
      const at = `${path}[${index}]`;
      if (claim !== "" && expression !== "") {
        this.#invalid(at, { value: claim, detail: "claim and expression can't both be set" });
      } else if (claim !== "") {
        if (message !== "") {
          this.#invalid(`${at}.message`, { value: message, detail: "may not be specified when claim is set" });
        }
        requiredClaims.set(claim, requiredValue);
      } else if (expression === "") {
        this.#required(at, "claim or expression is required");
      } else {
        if (requiredValue !== "") {
          const detail = "may not be specified when expression is set";
          this.#invalid(`${at}.requiredValue`, { value: requiredValue, detail });
        }
        const where = `${at}.expression`;
        const compiled = this.#compile(expression, { path: where, variable: "claims", result: "boolean" });
        if (compiled !== undefined) rules.push({ expression: compiled, message });
      }
    }
    this.#distinct(claimValidationRules.map(({ claim }, index) => [`${path}[${index}].claim`, claim]));
    this.#distinct(claimValidationRules.map(({ expression }, index) => [`${path}[${index}].expression`, expression]));
    return { requiredClaims, claimRules: rules };
  }

  #userRules({ userValidationRules = [] }: JwtAuthenticator, path: string): ValidationRule[] {
    this.#distinct(userValidationRules.map(({ expression }, index) => [`${path}[${index}].expression`, expression]));
    return userValidationRules.flatMap(({ expression = "", message = "" }, index) => {
      const at = `${path}[${index}].expression`;
      if (expression === "") {
        this.#required(at, "");
        return [];
      }
      const compiled = this.#compile(expression, { path: at, variable: "user", result: "boolean" });
      return compiled === undefined ? [] : [{ expression: compiled, message }];
    });
  }

  #prefixed(
    given: PrefixedClaim,
    { path, result }: { readonly path: string; readonly result: ExpressionResult },
  ): ClaimMapping["groups"] {
    const { claim = "", expression = "", prefix } = given;
    if (claim === "" && expression !== "" && prefix !== undefined) {
      this.#invalid(`${path}.prefix`, { value: prefix, detail: "may not be specified when expression is set" });
    }
    if (claim !== "" && expression === "" && prefix === undefined) {
      const detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
      this.#required(`${path}.prefix`, detail);
    }
    const source = this.#claimOrExpression(given, { path, result });
    return source === undefined || source.expression !== undefined ? source : { ...source, prefix: prefix ?? "" };
  }

  #claimOrExpression(
    { claim = "", expression = "" }: PrefixedClaim,
    { path, result }: { readonly path: string; readonly result: ExpressionResult },
  ): ClaimMapping["uid"] {
    if (claim !== "" && expression !== "") {
      this.#invalid(path, { value: "", detail: "claim and expression can't both be set" });
    } else if (expression !== "") {
      const compiled = this.#compile(expression, { path: `${path}.expression`, variable: "claims", result });
      return compiled && { expression: compiled };
    } else if (claim !== "") {
      return { claim };
    }
    return undefined;
  }

  #extra(mappings: NonNullable<JwtAuthenticator["claimMappings"]["extra"]>, path: string): ExtraMapping[] {
    this.#distinct(mappings.map(({ key }, index) => [`${path}[${index}].key`, key]));
    return mappings.flatMap(({ key = "", valueExpression = "" }, index) => {
      const at = `${path}[${index}]`;
      this.#extraKey(key, `${at}.key`);
      if (valueExpression === "") {
        this.#required(`${at}.valueExpression`, "");
        return [];
      }
      const options = { path: `${at}.valueExpression`, variable: "claims", result: "texts" } as const;
      const expression = this.#compile(valueExpression, options);
      return expression === undefined ? [] : [{ key, expression }];
    });
  }

  /** Checks a key of `extra`: a path with a domain, in lower case, and not below a reserved domain (upstream: `IsDomainPrefixedPath`). */
  #extraKey(key: string, path: string): void {
    if (key === "") return this.#required(path, "");
    const [domain = "", ...rest] = key.split("/");
    const name = rest.join("/");
    if (name === "" || dnsSubdomainFaults(domain.toLowerCase()).length > 0) {
      const detail = 'must be a domain-prefixed path (such as "acme.io/foo")';
      this.#invalid(path, { value: key, detail });
    } else if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(name)) {
      this.#invalid(path, {
        value: key,
        detail: "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
      });
    }
    if (key !== key.toLowerCase()) this.#invalid(path, { value: key, detail: "must be lowercase" });
    const reserved = ["k8s.io", "kubernetes.io", this.#context.names.domain];
    if (reserved.some((one) => isWithinDomain(domain, one))) {
      const detail = `${[...new Set(reserved)].join(", ")} and their subdomains are reserved`;
      this.#invalid(path, { value: key, detail });
    }
  }

  #compile(source: string, { path, variable, result }: ExpressionField): ClaimExpression | undefined {
    try {
      return compileClaimExpression(source, { variable, result });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.#invalid(path, { value: source, detail: `compilation failed: ${error.message}` });
      return undefined;
    }
  }

  #invalid(path: string, fault: { readonly value: unknown; readonly detail: string }): void {
    this.faults.push(invalidValue(path, fault));
  }

  #required(path: string, detail: string): void {
    this.faults.push(required(path, detail));
  }

  #distinct(values: readonly (readonly [path: string, value: string | undefined])[]): void {
    const seen = new Set<string>();
    for (const [path, value = ""] of values) {
      if (value === "") continue;
      if (seen.has(value)) this.faults.push(duplicate(path, value));
      seen.add(value);
    }
  }
}

/** The place of an expression, its variable, and the type of its result. */
interface ExpressionField {
  readonly path: string;
  readonly variable: ExpressionVariable;
  readonly result: ExpressionResult;
}

const isUnset = ({ claim = "", expression = "" }: PrefixedClaim): boolean => claim === "" && expression === "";

function isCertificates(pem: string): boolean {
  try {
    return parseCertificatesPem(pem).length > 0;
  } catch {
    return false;
  }
}
