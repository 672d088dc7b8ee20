/** Fields whose text nobody may read. */
export const SECRET_FIELDS = [
  "input[type=password]",
  ...["current-password", "new-password", "one-time-code", "cc-number", "cc-csc"].map(
    (kind) => `input[autocomplete~="${kind}"]`,
  ),
].join(",");
