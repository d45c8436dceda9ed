// Small words for making parts of the page.

export function element<K extends keyof HTMLElementTagNameMap>(tag: K, className: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}

export function button(text: string, act: () => unknown, className = "", title = ""): HTMLButtonElement {
  const made = element("button", className);
  made.type = "button";
  made.textContent = text;
  if (title) {
    made.title = title;
    made.setAttribute("aria-label", title);
  }
  made.addEventListener("click", () => void act());
  return made;
}

/** A dialogue with a title, what is in it, and buttons beside "Close". */
export function show(title: string, content: HTMLElement[], buttons: HTMLElement[]): HTMLDialogElement {
  const dialog = element("dialog", "");
  const head = element("h2", "");
  head.textContent = title;
  const menu = element("menu", "");
  menu.append(...buttons, button("Close", () => dialog.close()));
  dialog.append(head, ...content, menu);
  dialog.setAttribute("aria-label", title);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Puts a text on the clipboard, where the browser lets a page do so. */
export async function copied(text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.querySelector<HTMLTextAreaElement>("dialog textarea");
    area?.select();
  }
}
