# The whole project: settings, the one address and its view.
import pathlib

from django.urls import path

HERE = pathlib.Path(__file__).resolve().parent
FILES = [HERE / name for name in ($FILES)]

ALLOWED_HOSTS = ["*"]
DEBUG = False
ROOT_URLCONF = "page"
SECRET_KEY = "no secrets here"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [HERE]}]
USE_TZ = True


def page(request):
    from django.shortcuts import render

    return render(request, "page.html", {"texts": [file.read_text() for file in FILES]})


urlpatterns = [path("", page)]
