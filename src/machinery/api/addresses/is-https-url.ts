/** Whether a text is an absolute https URL. Node.js 20, on which agents run too, has no `URL.parse`. */
export const isHttpsUrl = (text: string): boolean => URL.canParse(text) && new URL(text).protocol === "https:";
