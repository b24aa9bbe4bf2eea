"""Pages in a real browser: screens, phones and paper.

Without chromium or playwright these tests are skipped; with BOREOD_NEEDS_BROWSER=1 they fail then.
"""

import os
import shutil

import pytest

SIZES = {"desktop": (1280, 900), "phone": (390, 844), "small phone": (320, 568)}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE = """() => [...document.querySelectorAll('body *')]
    .filter(e => !e.closest('.scroll, svg') && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80))"""


def give_up(reason):
    if os.environ.get("BOREOD_NEEDS_BROWSER") == "1":
        pytest.fail(f"{reason}, and BOREOD_NEEDS_BROWSER=1 asks for it.")
    pytest.skip(f"{reason}, so no page is opened in a browser.")


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        give_up("chromium is not installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("playwright is not installed")
    with sync_playwright() as playwright:
        # root has no sandbox, and containers have little shared memory
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()


@pytest.fixture
def open_page(browser, case, tmp_path):
    """Return a function that opens the page at a size; in the end nothing may have gone wrong."""
    file = tmp_path / "report.html"
    file.write_text(case.page, encoding="utf-8")
    wrong, asked, opened = [], [], []

    def open_at(size):
        context = browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)))
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: wrong.append(request.url))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri(), wait_until="load")
        opened.append(context)
        return page

    yield open_at
    for context in opened:
        context.close()
    assert wrong == []
    assert asked == [file.as_uri()] * len(opened)


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_pages_fit_the_screen(open_page, case, size):
    page = open_page(size)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0]
    assert page.evaluate(WIDE) == []
    figures = page.locator("figure svg")
    assert figures.count() == case.page.count("<figure")
    for number in range(figures.count()):
        box = figures.nth(number).bounding_box()
        assert box["width"] > 0.6 * min(size[0], 500)
        assert box["height"] > 100
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_contents_lead_to_sections(open_page):
    page = open_page(SIZES["desktop"])
    links = page.locator("nav a")
    assert links.count() == page.locator("main > section").count() >= 11
    for number in range(links.count()):
        target = links.nth(number).get_attribute("href")
        assert page.locator(f"{target} h2").inner_text() == links.nth(number).inner_text()


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_reasons_are_seen_on_a_phone(open_page):
    page = open_page(SIZES["phone"])
    bar = page.locator(".bar").first.bounding_box()
    assert bar["x"] + bar["width"] <= 390


@pytest.mark.parametrize("case", ["wdbc", "payments"], indirect=True)
def test_pages_print(open_page):
    page = open_page(SIZES["desktop"])
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert 3 <= paper.count(b"/Type /Page\n") <= 12
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 without its margins
    assert page.locator("nav").is_hidden()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 700
