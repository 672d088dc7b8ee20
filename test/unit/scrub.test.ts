import { expect, test } from "bun:test";
import { createScrubber, shownKey } from "#worker/browser/actions/scrub.ts";

// rules/recordings#secrets-in-recordings
test("keys are shown by their names, and letters, which are typed, are not", () => {
  const shown = ["Tab", "Enter", "F12", "ArrowLeft", "Control+a", "Shift+Tab", "Control+Shift+T"];
  for (const key of shown) expect(shownKey(key)).toBe(key);
  for (const key of ["a", "é", "%", "7", "Shift+a", "correct horse", "hunter22", ""])
    expect(shownKey(key)).toBe("***");
});

test("errors of a recipe do not repeat what its steps enter", () => {
  const scrub = createScrubber({}, [
    { kind: "type", text: "correct horse" },
    { kind: "press", key: "hunter22" },
    { kind: "press", key: "Enter" },
  ]);
  expect(scrub("hunter22 is no key, correct%20horse no word, Enter is one")).toBe(
    "*** is no key, *** no word, Enter is one",
  );
});
