/** A recorded conversation: requests in order, each with the answer of a real server. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

export type Credentials =
  | string
  | { readonly anonymous: true }
  | { readonly token: string }
  | { readonly authorization: string | readonly string[] }
  | {
      readonly user?: string;
      readonly groups?: readonly string[];
      readonly uid?: string;
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };

export interface Step {
  readonly method?: string;
  readonly path?: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
  readonly bodyText?: string;
  /** The user that the administrator impersonates, or credentials to use instead. */
  readonly as?: Credentials;
  /** Opens a watch under this name, or collects what it has received. */
  readonly watchStart?: string;
  readonly watchCollect?: string;
  readonly count?: number;
  readonly settleMs?: number;
  readonly timeoutMs?: number;
  readonly sleepMs?: number;
  /** Repeats the request until the answer matches. */
  readonly until?: Until;
  /** Variables to keep for later steps, by JSON pointer into the answer. */
  readonly capture?: Readonly<Record<string, string>>;
  readonly silent?: boolean;
  /** JSON pointers of tokens whose claims are compared too. */
  readonly claims?: readonly string[];
  readonly ignore?: readonly string[];
  readonly pick?: readonly string[];
  readonly expect?: Summary;
}

export interface Until {
  readonly status?: number;
  readonly pointer?: string;
  readonly equals?: unknown;
  readonly timeoutMs?: number;
}

/** The compared parts of an answer, with placeholders for everything that differs from run to run. */
export interface Summary {
  status: number;
  contentType: string;
  warning?: unknown;
  body?: unknown;
  events?: unknown;
  claims?: unknown;
  lifetimeSeconds?: number;
}

export type Variables = Record<string, string>;
