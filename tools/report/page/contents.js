// Fills the list of the page's parts at the side, and marks the part that is visible.
function fillContents() {
  const sections = [...document.querySelectorAll('main section')].filter((one) => !one.hidden && one.querySelector('h2') && one.offsetParent);
  const links = sections.map((section, i) => {
    const head = section.querySelector('h2');
    if (!section.id) section.id = `part-${i}`;
    return element('li', {}, element('a', {href: `#${section.id}`, onclick: (event) => {
      event.preventDefault();
      section.scrollIntoView({behavior: reducesMotion() ? 'instant' : 'smooth'});
      head.tabIndex = -1;
      head.focus({preventScroll: true});
    }}, head.dataset.short || head.textContent));
  });
  byId('contents-list').replaceChildren(...links);
  if (fillContents.observer) fillContents.observer.disconnect();
  const seen = new Set();
  fillContents.observer = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.isIntersecting ? seen.add(entry.target) : seen.delete(entry.target);
    const first = sections.findIndex((section) => seen.has(section));
    links.forEach((link, i) => i === first ? link.firstChild.setAttribute('aria-current', 'true') : link.firstChild.removeAttribute('aria-current'));
  }, {rootMargin: '-70px 0px -40% 0px'});
  sections.forEach((section) => fillContents.observer.observe(section));
}

function reducesMotion() { return window.matchMedia('(prefers-reduced-motion: reduce)').matches; }
