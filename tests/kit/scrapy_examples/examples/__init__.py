"""A Scrapy project with a spider for each part of Scrapy that its tutorial and its documentation show."""
