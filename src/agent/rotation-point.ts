/**
 * When a certificate is renewed: at a random point at 70 to 90 % of its lifetime, so that machines that started together
 * do not come back together (upstream: `certificate.Manager.nextRotationDeadline`). Times are milliseconds since the epoch;
 * `random` is from 0 to 1.
 */
export function rotationPoint(
  { notBefore, notAfter }: { readonly notBefore: number; readonly notAfter: number },
  random: number,
): number {
  return Math.round(notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random));
}
