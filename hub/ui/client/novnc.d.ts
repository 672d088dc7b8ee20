/** What the player uses of noVNC, which has no types of its own. */
declare module "@novnc/novnc" {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, channel: object, options?: { shared?: boolean });
    viewOnly: boolean;
    disconnect(): void;
    /**
     * Not part of its API, and there is no other way to know when pictures of an update are drawn, because a browser decodes
     * them beside everything else.
     */
    readonly _display: { pending(): boolean; flush(): Promise<void> };
  }
}
