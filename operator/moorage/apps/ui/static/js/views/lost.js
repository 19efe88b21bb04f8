// An address that is none of ours.
import { html } from "../html.js";
import { Lead } from "../parts/lead.js";
import { href } from "../router.js";
import { Shell } from "../shell.js";

export function Lost(shared) {
  return html`<${Shell} view="" title="Not here" ...${shared}>
    <${Lead} sentence="There is no such view." under=${html`Go to the <a class="link is-accent"
    href=${href("")}>overview</a>, or press / to find something.`} /><//>`;
}
