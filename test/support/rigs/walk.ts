import type { Locator, Page } from "playwright-core";

/** What a person did on the way to something, and how long it took. */
export interface Walked {
  readonly name: string;
  readonly clicks: number;
  readonly typed: number;
  readonly seconds: number;
}

/** A person with a mouse and a keyboard who begins at Home: every click and every text that is typed counts. */
export class Walk {
  readonly page: Page;
  private readonly name: string;
  private readonly begun = performance.now();
  private clicks = 0;
  private typed = 0;

  constructor(name: string, page: Page) {
    this.name = name;
    this.page = page;
  }

  async click(what: Locator): Promise<void> {
    this.clicks += 1;
    await what.click();
  }

  /** Presses a key or a shortcut, which counts as a click. */
  async press(keys: string): Promise<void> {
    this.clicks += 1;
    await this.page.keyboard.press(keys);
  }

  /** Types into a field, which it chooses with a click unless it has the focus. */
  async type(where: Locator, text: string): Promise<void> {
    this.typed += 1;
    const has_focus = (await where.and(this.page.locator(":focus")).count()) > 0;
    if (!has_focus) await this.click(where);
    await this.page.keyboard.type(text);
  }

  /** Writes over what is in a field. */
  async overwrite(where: Locator, text: string): Promise<void> {
    this.typed += 1;
    await this.click(where);
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.keyboard.insertText(text);
  }

  done(): Walked {
    const seconds = (performance.now() - this.begun) / 1_000;
    return { name: this.name, clicks: this.clicks, typed: this.typed, seconds };
  }
}
