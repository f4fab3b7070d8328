/** An answer that is not what the API answers with, such as half an answer, or a page of something that is not an API server. */
export class UnreadableAnswer extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnreadableAnswer";
  }
}
