"""Feeds as sites write them, made here: RSS 2.0, Atom, RSS 1.0, a shop's namespaces, CDATA."""

from __future__ import annotations

RSS = """<?xml version="1.0" encoding="utf-8"?>
<?xml-stylesheet type="text/xsl" href="/feed.xsl"?>
<!-- made by hand -->
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
     xmlns:atom="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
<channel>
  <title>News &amp; more</title>
  <link>http://h/</link>
  <atom:link href="http://h/feed" rel="self" type="application/rss+xml"/>
  <item>
    <title><![CDATA[One < two & <b>three</b>]]></title>
    <link>http://h/1</link>
    <pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate>
    <guid isPermaLink="false">abc-1</guid>
    <g:price currency="EUR">1.50</g:price>
    <content:encoded><![CDATA[<p>text</p>]]>, and a tail</content:encoded>
  </item>
  <item>
    <title>Grüße — zwei</title>
    <link> /2 </link>
    <pubDate>Tue, 07 Sep 2021 00:01:00 +0000</pubDate>
    <enclosure url="http://h/2.mp3" length="7" type="audio/mpeg"/>
  </item>
</channel></rss>"""

ATOM = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en" xml:base="http://h/blog/">
  <title>A blog</title>
  <link href="http://h/feed" rel="self"/>
  <link href="http://h/"/>
  <entry>
    <title type="html">First &lt;post&gt;</title>
    <link rel="alternate" href="first"/>
    <link rel="enclosure" href="first.mp3"/>
    <updated>2021-09-06T00:00:00Z</updated>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><a href="/more">more</a></div></content>
  </entry>
</feed>"""

RDF = """<?xml version="1.0" encoding="ISO-8859-1"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<item rdf:about="http://h/1"><title>Ä</title><link>http://h/1</link></item></rdf:RDF>"""

BROKEN = "<rss><channel><item><title>a b</title><link>http://h/1</item><item><title>c</title>"

FEEDS = {"rss": RSS, "atom": ATOM, "rdf": RDF, "broken": BROKEN, "empty": "<r/>", "no xml": "plain text"}
