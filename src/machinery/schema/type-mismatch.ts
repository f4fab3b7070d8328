/** The JSON type of a value does not fit the schema. The message uses the words of Go's encoding/json. */
export class TypeMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypeMismatch";
  }
}
