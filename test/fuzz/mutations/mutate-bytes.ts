import type { SeededRandom } from "../../reliability/seeded-random.ts";

/** Octets that mean something in DER, UTF-8, JSON or protobuf. */
const telling = [
  0, 1, 2, 3, 5, 6, 9, 10, 13, 0x22, 0x30, 0x31, 0x5b, 0x7b, 0x7f, 0x80, 0x82, 0xa0, 0xc3, 0xed, 0xff,
] as const;

/** One to four changes: octets flipped, replaced, removed, inserted, a run repeated, the end cut off. */
export function mutateBytes(input: Buffer, random: SeededRandom): Buffer {
  let output = Buffer.from(input);
  for (let changes = random.integer(1, 4); changes > 0 && output.length > 0; changes--) {
    const at = random.integer(0, output.length - 1);
    const octet = output[at] ?? 0;
    switch (random.integer(0, 6)) {
      case 0:
        output[at] = octet ^ (1 << random.integer(0, 7));
        break;
      case 1:
        output[at] = random.pick([...telling]);
        break;
      case 2:
        output[at] = octet + random.pick([1, -1]);
        break;
      case 3:
        output = Buffer.concat([output.subarray(0, at), output.subarray(at + random.integer(1, 8))]);
        break;
      case 4:
        output = Buffer.concat([output.subarray(0, at), Buffer.of(random.integer(0, 255)), output.subarray(at)]);
        break;
      case 5: {
        const run = output.subarray(at, at + random.integer(1, 40));
        const repeats = Array.from({ length: random.pick([2, 3, 50]) }, () => run);
        output = Buffer.concat([output.subarray(0, at), ...repeats, output.subarray(at)]);
        break;
      }
      default:
        output = output.subarray(0, at);
    }
  }
  return output;
}
