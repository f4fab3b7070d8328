/** Whether a domain is `parent`, or below it: `a.example.com` is within `example.com`, and `an-example.com` is not. */
export const isWithinDomain = (domain: string, parent: string): boolean =>
  domain === parent || domain.endsWith(`.${parent}`);
