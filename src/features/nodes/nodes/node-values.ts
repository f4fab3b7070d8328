import { goQuoted, shortened } from "../../../machinery/api/text/format-value.ts";
import { duplicate, invalidValue } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { isSemanticallyEqual } from "../../../machinery/api/json/json-equality.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { parseQuantity } from "../../../machinery/api/quantity.ts";
import { parseIpAddress, parseIpRange } from "../../../pki/names/ip-address.ts";
import type { IpRange } from "../../../pki/names/ip-address.ts";
import type { Node } from "./node-schema.ts";

/** The context of the validation of a Node's values. */
export interface NodeBefore {
  /** The stored Node. Undefined for a new Node. Unchanged values are not validated again, so that a stored Node stays changeable. */
  readonly previous: Node | undefined;
  readonly names: Names;
}

/**
 * The faults of the address ranges for Pods: one range, or one for each IP family (upstream: `ValidateNode`, as strict as since Kubernetes
 * 1.36).
 */
export function validatePodRanges({ spec: { podCIDRs = [] } }: Node, { previous }: NodeBefore): FieldError[] {
  if (isSemanticallyEqual(podCIDRs, previous?.spec.podCIDRs ?? [])) return [];
  const field = "spec.podCIDRs";
  const ranges = podCIDRs.map((text) => (text.includes("/") ? parseIpRange(text) : undefined));
  const faults = podCIDRs.flatMap((value, index) => {
    const detail = rangeFault(value, ranges[index]);
    return detail === undefined ? [] : [invalidValue(`${field}[${index}]`, { value, detail })];
  });
  const sizes = ranges.map((range) => range?.address.length);
  const isPair = sizes.length === 2 && new Set(sizes).size === 2 && !sizes.includes(undefined);
  return podCIDRs.length < 2 || isPair
    ? faults
    : [
        ...faults,
        invalidValue(field, { value: podCIDRs, detail: "may specify no more than one CIDR for each IP family" }),
      ];
}

function rangeFault(text: string, range: IpRange | undefined): string | undefined {
  if (isMappedRange(text)) return "must not have an IPv4-mapped IPv6 address";
  if (range === undefined) {
    return hasLeadingZeros(text)
      ? "must not have leading 0s in IP or prefix length"
      : "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  }
  const { address, mask } = range;
  const isWhole = address.every((octet, index) => (octet & ~(mask[index] ?? 0)) === 0);
  return isWhole ? undefined : "must not have bits set beyond the prefix length";
}

/** Whether it is a range of IPv4 addresses that is written as one of IPv6 addresses: its prefix may have 128 bits. */
function isMappedRange(text: string): boolean {
  const slash = text.indexOf("/");
  const address = text.slice(0, slash);
  const prefix = text.slice(slash + 1);
  return (
    address.includes(":") && parseIpAddress(address)?.length === 4 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= 128
  );
}

/** Longer than any range, but for zeros. */
const maximumRangeLength = 64;

/** Whether it would be a range without the zeros before its numbers. */
function hasLeadingZeros(text: string): boolean {
  if (text.length > maximumRangeLength || !text.includes("/")) return false;
  const bare = text.replaceAll(/(^|[.:])0+(?=\d+[./])/g, "$1").replace(/\/0+(?=\d)/, "/");
  return bare !== text && (parseIpRange(bare) !== undefined || isMappedRange(bare));
}

/**
 * The faults of the features that a node declares: names in camel case, sorted (upstream: `ValidateNodeDeclaredFeatures`). Unchanged
 * features are not validated again.
 */
export function validateDeclaredFeatures(
  { status: { declaredFeatures = [] } }: Node,
  { previous }: NodeBefore,
): FieldError[] {
  if (isSemanticallyEqual(declaredFeatures, previous?.status.declaredFeatures ?? [])) return [];
  return declaredFeatures.flatMap((feature, index) => {
    const field = `status.declaredFeatures[${index}]`;
    const last = declaredFeatures[index - 1];
    const fault = featureFault(feature);
    return [
      ...(feature === last ? [duplicate(field, feature)] : []),
      ...(last !== undefined && feature < last
        ? [invalidValue(field, { value: feature, detail: "list must be sorted alphabetically" })]
        : []),
      ...(fault === undefined
        ? []
        : [
            invalidValue(field, {
              value: feature,
              detail: `invalid feature name ${goQuoted(shortened(feature))}: ${fault}`,
            }),
          ]),
    ];
  });
}

const maximumFeatureLength = 253;

function featureFault(feature: string): string | undefined {
  if (Buffer.byteLength(feature) > maximumFeatureLength)
    return `must be no more than ${maximumFeatureLength} characters`;
  if (/^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/.test(feature)) return undefined;
  return (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), " +
    "and contain only alphanumeric characters and slashes"
  );
}

/** The faults of the amounts of resources (upstream: `ValidateNodeResources`). */
export const validateResources = ({ status }: Node, { previous, names }: NodeBefore): FieldError[] =>
  (["capacity", "allocatable"] as const).flatMap((list) => {
    const before = previous?.status[list] ?? {};
    return Object.entries(status[list] ?? {}).flatMap(([name, value]) => {
      if (Object.hasOwn(before, name) && before[name] === value) return [];
      const fault = (detail: string): FieldError => invalidValue(`status.${list}.${name}`, { value, detail });
      const { nanos = 0n } = parseQuantity(value);
      return [
        ...(nanos < 0n ? [fault("must be greater than or equal to 0")] : []),
        ...(isCounted(name, names) && nanos % 1_000_000_000n !== 0n ? [fault("must be an integer")] : []),
      ];
    });
  });

const countedKinds = new Set(
  (
    "pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims services.nodeports " +
    "services.loadbalancers"
  ).split(" "),
);

/**
 * Whether amounts of a resource must be whole numbers: numbers of objects, and resources that Kubernetes does not define, such as
 * `example.com/gpu`.
 */
const isCounted = (name: string, names: Names): boolean =>
  countedKinds.has(name) || (name.includes("/") && !names.ownKey(name).includes(`${names.domain}/`));
