/**
 * The largest number below 2^63. Integers beyond 2^53 become the nearest number, which for the largest ones is 2^63: shown to
 * clients, it would be no int64, and they could not read the object, nor a list with it.
 */
export const largestInt64: number = 2 ** 63 - 2 ** 10;
