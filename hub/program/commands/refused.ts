/** A command cannot do what was asked: one sentence that says what to do instead, exit 1. */
export class CommandRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandRefused";
  }
}
