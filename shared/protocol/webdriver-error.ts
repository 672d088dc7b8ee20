/** Errors as WebDriver's clients know them (W3C WebDriver, Errors), each with its HTTP status. */
const STATUS = {
  "invalid argument": 400,
  "invalid session id": 404,
  "session not created": 500,
  timeout: 500,
  "unknown command": 404,
  "unknown error": 500,
  "unknown method": 405,
  "unsupported operation": 500,
} as const;

export type WebDriverErrorName = keyof typeof STATUS;

/** The body of an answer that is an error. */
export interface WebDriverErrorBody {
  value: { error: string; message: string; stacktrace: string };
}

export const webDriverError = (error: string, message: string): WebDriverErrorBody => ({
  value: { error, message, stacktrace: "" },
});

/** Thrown for what a WebDriver client is told. */
export class WebDriverError extends Error {
  override readonly name = "WebDriverError";
  readonly error: WebDriverErrorName;
  constructor(error: WebDriverErrorName, message: string, options?: ErrorOptions) {
    super(message, options);
    this.error = error;
  }

  get status(): number {
    return STATUS[this.error];
  }

  get body(): WebDriverErrorBody {
    return webDriverError(this.error, this.message);
  }
}
