/** The result of checking one subject, and the reason. */
export interface CheckFinding {
  readonly state: "ok" | "FAULT" | "not checked";
  readonly why?: string;
}

export const ok: CheckFinding = { state: "ok" };
export const faulty = (why: string): CheckFinding => ({ state: "FAULT", why });
export const notChecked = (why: string): CheckFinding => ({ state: "not checked", why });
