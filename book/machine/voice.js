// What a screen reader hears. One voice, a moment late: a slider's many changes are told once.

export class Voice {
  constructor(live) {
    this.live = live;
  }

  say(text) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => (this.live.textContent = text), 250);
  }
}
