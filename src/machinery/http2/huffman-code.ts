import { ConnectionError, errorCodes } from "./protocol.ts";

/**
 * The number of bits of each symbol's code: bytes 0 to 255, then the end of a string (RFC 7541 appendix B). The code is canonical: the
 * codes are ordered by length, and codes of the same length by symbol.
 */
// oxfmt-ignore
const codeLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const endOfString = 256;
const nibbles = 16;
const failure = -1;

interface Decoder {
  /** For each state and each next four bits: the next state, shifted by nine bits, and the symbol plus one; 0 for no symbol. */
  readonly transitions: Int32Array;
  /** The states in which a string may end: less than a byte of ones since the last symbol (RFC 7541 section 5.2). */
  readonly acceptsEnd: Uint8Array;
}

/** The successors for a zero and a one: the index of a node, a leaf, or 0 for none, because no code leads back to the root. */
type Node = [afterZero: number, afterOne: number];

const leafOf = (symbol: number): number => -1 - symbol;

const { transitions, acceptsEnd } = compileDecoder(codeTree());

/** The tree of the codes. Its first node is the root. */
function codeTree(): readonly Node[] {
  const tree: Node[] = [[0, 0]];
  const lengthOf = (symbol: number): number => codeLengths[symbol] ?? 0;
  const symbols = codeLengths.map((_, symbol) => symbol);
  symbols.sort((one, other) => lengthOf(one) - lengthOf(other) || one - other);
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code *= 2 ** (lengthOf(symbol) - length);
    length = lengthOf(symbol);
    let at = 0;
    for (let bit = length - 1; bit >= 0; bit--) {
      const node = tree[at] ?? [0, 0];
      const side = Math.floor(code / 2 ** bit) % 2 === 0 ? 0 : 1;
      if (bit === 0) node[side] = leafOf(symbol);
      else {
        if (node[side] === 0) node[side] = tree.push([0, 0]) - 1;
        at = node[side];
      }
    }
    code++;
  }
  return tree;
}

/** The nodes are the states. No code is shorter than four bits, so four bits complete one symbol at most. */
function compileDecoder(tree: readonly Node[]): Decoder {
  const decoder = { transitions: new Int32Array(tree.length * nibbles), acceptsEnd: new Uint8Array(tree.length) };
  for (let state = 0; state < tree.length; state++) {
    for (let nibble = 0; nibble < nibbles; nibble++)
      decoder.transitions[state * nibbles + nibble] = transitionFrom(tree, { state, nibble });
  }
  for (let ones = 0, at = 0; ones < 8; ones++) {
    decoder.acceptsEnd[at] = 1;
    at = tree[at]?.[1] ?? 0;
  }
  return decoder;
}

/** The transition for four bits: see Decoder. */
function transitionFrom(
  tree: readonly Node[],
  { state, nibble }: { readonly state: number; readonly nibble: number },
): number {
  let at = state;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const side = ((nibble >> bit) & 1) as 0 | 1; // one bit
    const next = tree[at]?.[side] ?? 0;
    if (next === leafOf(endOfString)) return failure;
    if (next >= 0) at = next;
    else {
      emitted = -next; // the symbol plus one
      at = 0;
    }
  }
  return (at << 9) | emitted;
}

/** The shortest code has five bits. */
const longestExpansion = 8 / 5;
let scratch = Buffer.allocUnsafeSlow(4096);

/** Decodes a Huffman coded string (RFC 7541 section 5.2) to Latin-1. Throws a ConnectionError when it is malformed. */
export function decodeHuffman(bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): string {
  const longest = Math.ceil((end - start) * longestExpansion);
  if (scratch.length < longest) scratch = Buffer.allocUnsafeSlow(longest);
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number; // the caller gives an end within the bytes
    for (let shift = 4; shift >= 0; shift -= 4) {
      // Each state and nibble has a transition.
      const transition = transitions[state * nibbles + ((byte >> shift) & 0xf)] as number;
      if (transition === failure) throw malformed();
      const symbol = transition & 0x1ff;
      if (symbol !== 0) scratch[length++] = symbol - 1;
      state = transition >> 9;
    }
  }
  if (acceptsEnd[state] !== 1) throw malformed();
  return scratch.toString("latin1", 0, length);
}

const malformed = (): ConnectionError =>
  new ConnectionError(errorCodes.compressionError, "a Huffman coded string is malformed");
