import { oids } from "./object-identifiers.ts";

export type CurveName = "P-224" | "P-256" | "P-384" | "P-521";

/** y² = x³ - 3x + b over the field of p elements (SEC 2). */
interface Curve {
  readonly name: CurveName;
  readonly sizeBits: number;
  readonly p: bigint;
  readonly b: bigint;
}

const curves = new Map<string, Curve>([
  [
    oids.p224,
    {
      name: "P-224",
      sizeBits: 224,
      p: 2n ** 224n - 2n ** 96n + 1n,
      b: 0xb4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4n,
    },
  ],
  [
    oids.p256,
    {
      name: "P-256",
      sizeBits: 256,
      p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
      b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
    },
  ],
  [
    oids.p384,
    {
      name: "P-384",
      sizeBits: 384,
      p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
      b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
    },
  ],
  [
    oids.p521,
    {
      name: "P-521",
      sizeBits: 521,
      p: 2n ** 521n - 1n,
      b: 0x051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
    },
  ],
]);

export const curveOf = (objectIdentifier: string): Curve | undefined => curves.get(objectIdentifier);

/**
 * Says in Go's words why octets are not an uncompressed point of the curve (SEC 1 2.3.4), or returns undefined when
 * they are.
 */
export function pointFault({ name, sizeBits, p, b }: Curve, point: Buffer): string | undefined {
  const size = Math.ceil(sizeBits / 8);
  const goName = name.replace("-", "");
  if (point[0] !== 4) return "ecdsa: invalid uncompressed public key";
  if (point.length !== 1 + 2 * size) return `invalid ${goName} point encoding`;
  const x = BigInt(`0x${point.toString("hex", 1, 1 + size)}`);
  const y = BigInt(`0x${point.toString("hex", 1 + size)}`);
  if (x >= p || y >= p) return `invalid ${goName} element encoding`;
  return (y * y - (x * x - 3n) * x - b) % p === 0n ? undefined : `${goName} point not on curve`;
}
