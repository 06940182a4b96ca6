// Roundcube's fields without a name get one, for whoever reads the accessibility tree.
const NAMES = {
  "#mailsearchform, #searchform": "Search",
  "#composebody": "Message text",
  "#compose_to .recipient-input input": "To",
  "#compose_cc .recipient-input input": "Cc",
  "#compose_bcc .recipient-input input": "Bcc",
};

function nameFields() {
  for (const [fields, name] of Object.entries(NAMES)) {
    for (const field of document.querySelectorAll(fields)) {
      if (!field.hasAttribute("aria-label")) field.setAttribute("aria-label", name);
    }
  }
}

document.addEventListener("DOMContentLoaded", () => {
  nameFields();
  new MutationObserver(nameFields).observe(document.body, { childList: true, subtree: true });
});
