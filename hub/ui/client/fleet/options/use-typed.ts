import { useState } from "react";

/**
 * The text of a value that people type with separators: as they typed it while it stands for the value, so that a
 * separator at its end, which is no part yet, does not vanish under the cursor.
 */
export function useTyped<Value>(
  value: Value,
  read: (text: string) => Value,
  write: (value: Value) => string,
): { shown: string; type: (text: string) => Value } {
  const [typed, setTyped] = useState("");
  const whole = write(value);
  return {
    shown: write(read(typed)) === whole ? typed : whole,
    type: (text) => {
      setTyped(text);
      return read(text);
    },
  };
}
