/**
 * `exists` and `doesNotExist` have no values, `in` and `notin` have any number, the other operators have exactly one.
 * Values are sorted and distinct.
 */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

type LabelOperator = BinaryOperator | "exists" | "doesNotExist";
export type BinaryOperator = "in" | "notin" | "=" | "==" | "!=" | ">" | "<";

/** All requirements must match. An empty selector matches everything. */
export type LabelSelector = readonly LabelRequirement[];

export type Labels = Readonly<Record<string, string>>;

/** A selector as objects have it (`metav1.LabelSelector`). */
export interface LabelSelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const objectOperators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "doesNotExist",
};

/** The requirements of a selector object. Throws TypeError for an operator that validation refuses. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): LabelSelector {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "=" as const, values: [value] })),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      const known = objectOperators[operator];
      if (known === undefined) throw new TypeError(`${operator} is not an operator of a label selector`);
      return { key, operator: known, values };
    }),
  ];
}

export type LabelMatcher = (labels?: Labels) => boolean;

/**
 * Returns a function that tells whether labels match a selector. Make it once for many objects: a selector may have thousands of
 * requirements and values, but the cost for each object depends only on the number of its labels.
 */
export function labelMatcher(selector: LabelSelector): LabelMatcher {
  const ofKeys = new Map<string, KeyRequirements>();
  for (const requirement of selector) {
    const ofKey = ofKeys.get(requirement.key) ?? new KeyRequirements();
    ofKeys.set(requirement.key, ofKey);
    ofKey.add(requirement);
  }
  const needed = [...ofKeys.values()].filter(({ isNeeded }) => isNeeded).length;
  return (labels = {}) => {
    let found = 0;
    for (const [key, value] of Object.entries(labels)) {
      const ofKey = ofKeys.get(key);
      if (ofKey === undefined) continue;
      if (!ofKey.areMetBy(value)) return false;
      if (ofKey.isNeeded) found += 1;
    }
    return found === needed;
  };
}

/** All requirements of one key, combined. */
class KeyRequirements {
  /** Whether labels without the key do not match. */
  isNeeded = false;
  #mayExist = true;
  #listed: ReadonlySet<string> | undefined;
  readonly #excluded = new Set<string>();
  #above: bigint | undefined;
  #below: bigint | undefined;

  add({ operator, values }: LabelRequirement): void {
    this.isNeeded ||= operator !== "doesNotExist" && operator !== "notin" && operator !== "!=";
    switch (operator) {
      case "exists":
        return;
      case "doesNotExist":
        this.#mayExist = false;
        return;
      case "in":
      case "=":
      case "==":
        this.#listed = new Set(this.#listed === undefined ? values : values.filter((one) => this.#listed?.has(one)));
        return;
      case "notin":
      case "!=":
        for (const value of values) this.#excluded.add(value);
        return;
      case ">":
      case "<":
        this.#addBound(operator, integerOf(values[0] ?? ""));
    }
  }

  #addBound(operator: ">" | "<", bound: bigint | undefined): void {
    if (bound === undefined) this.#mayExist = false;
    else if (operator === ">") this.#above = this.#above === undefined || bound > this.#above ? bound : this.#above;
    else this.#below = this.#below === undefined || bound < this.#below ? bound : this.#below;
  }

  areMetBy(value: string): boolean {
    if (!this.#mayExist || this.#excluded.has(value) || this.#listed?.has(value) === false) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = integerOf(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }
}

/** The 64-bit integer of a text, as Go parses it. Undefined for any other text. */
export function integerOf(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
