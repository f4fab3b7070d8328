/** A value whose JSON type does not fit the schema. The message is worded as Go's encoding/json does. */
export class TypeMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypeMismatch";
  }
}
