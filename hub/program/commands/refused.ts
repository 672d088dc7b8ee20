/** A command that cannot do what was asked: one sentence with the way out, exit 1. */
export class CommandRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandRefused";
  }
}
