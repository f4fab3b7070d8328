/** A number of things, for people: `1 key`, `2 keys`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
